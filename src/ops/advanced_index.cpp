#include "tandem/ops/advanced_index-inl.h"
