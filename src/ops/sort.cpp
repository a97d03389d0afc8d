#include "tandem/ops/sort-inl.h"
