#include "tandem/ops/activation-inl.h"
