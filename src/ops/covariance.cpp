#include "tandem/ops/covariance-inl.h"
