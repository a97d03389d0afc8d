#include "tandem/ops/split-inl.h"
