#include "tandem/ops/attention-inl.h"
