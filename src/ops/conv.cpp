#include "tandem/ops/conv-inl.h"
