#include "tandem/ops/ctc_loss-inl.h"
