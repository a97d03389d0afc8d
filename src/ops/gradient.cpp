#include "tandem/ops/gradient-inl.h"
