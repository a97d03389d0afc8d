#include "tandem/ops/unpool-inl.h"
