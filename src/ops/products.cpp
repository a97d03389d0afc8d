#include "tandem/ops/products-inl.h"
