#include "tandem/ops/arithmetic-inl.h"
