#include "tandem/ops/fold-inl.h"
