#include "tandem/ops/einsum-inl.h"
