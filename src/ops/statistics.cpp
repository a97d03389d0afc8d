#include "tandem/ops/statistics-inl.h"
