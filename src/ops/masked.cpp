#include "tandem/ops/masked-inl.h"
