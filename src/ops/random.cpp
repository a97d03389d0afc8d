#include "tandem/ops/random-inl.h"
