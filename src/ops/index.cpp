#include "tandem/ops/index-inl.h"
