#include "tandem/ops/grid_sample-inl.h"
