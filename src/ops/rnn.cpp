#include "tandem/ops/rnn-inl.h"
