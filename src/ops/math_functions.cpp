#include "tandem/ops/math_functions-inl.h"
