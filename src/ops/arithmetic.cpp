#include "tandem/ops/arithmetic-inl.h"
#include "tandem/ops/ternary-inl.h"
