#include "tandem/ops/reduce-inl.h"
