#include "tandem/ops/embedding_bag-inl.h"
