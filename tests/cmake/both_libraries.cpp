// libtorch's headers before tandem's for libtorch programs. compile_errors.py compares the errors with the comments.
#define C10_STRINGIZE_IMPL(x) #x  // as libtorch's headers do
#include <torch/torch.h>          // error: take one of the two include paths away
