#include "tandem/ops/pointwise_loss-inl.h"
