#include "tandem/ops/distance-inl.h"
