#include "tandem/ops/margin_loss-inl.h"
