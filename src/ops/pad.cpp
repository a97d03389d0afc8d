#include "tandem/ops/pad-inl.h"
