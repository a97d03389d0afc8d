#include "tandem/ops/add_layer_norm-inl.h"
