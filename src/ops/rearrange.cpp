#include "tandem/ops/rearrange-inl.h"
