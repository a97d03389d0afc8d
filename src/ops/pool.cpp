#include "tandem/ops/pool-inl.h"
