#include "tandem/ops/norm_layers-inl.h"
