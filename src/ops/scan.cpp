#include "tandem/ops/scan-inl.h"
