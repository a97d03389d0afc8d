#include "tandem/ops/vector_norm-inl.h"
