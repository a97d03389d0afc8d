#include "tandem/ops/elementwise-inl.h"
