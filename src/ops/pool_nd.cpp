#include "tandem/ops/pool_nd-inl.h"
