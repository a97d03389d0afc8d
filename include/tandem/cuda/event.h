#pragma once
// Events of CUDA devices: those of the tensor layer, with the names of torch.cuda.
#include "tandem/tensor/stream.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

using tandem::Event;

}  // namespace tandem::cuda
#pragma GCC visibility pop
