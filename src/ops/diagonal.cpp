#include "tandem/ops/diagonal-inl.h"
