#include "tandem/ops/search-inl.h"
