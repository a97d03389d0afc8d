#include "tandem/ops/rms_norm-inl.h"
