#include "tandem/ops/group_norm-inl.h"
