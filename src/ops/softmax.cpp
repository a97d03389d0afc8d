#include "tandem/ops/softmax-inl.h"
