#include "tandem/ops/pixel_shuffle-inl.h"
