#include "tandem/ops/shape-inl.h"
