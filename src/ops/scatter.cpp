#include "tandem/ops/scatter-inl.h"
