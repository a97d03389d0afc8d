#include "tandem/ops/histogram-inl.h"
