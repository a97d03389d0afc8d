#include "tandem/ops/matmul-inl.h"
