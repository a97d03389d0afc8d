#include "tandem/ops/interpolate-inl.h"
