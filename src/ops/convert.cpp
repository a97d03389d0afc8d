#include "tandem/ops/convert-inl.h"
