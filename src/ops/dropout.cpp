#include "tandem/ops/dropout-inl.h"
