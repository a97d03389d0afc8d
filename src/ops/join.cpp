#include "tandem/ops/join-inl.h"
