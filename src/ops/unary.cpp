#include "tandem/ops/unary-inl.h"
