#include "tandem/ops/float8-inl.h"
