#include "tandem/ops/loss-inl.h"
