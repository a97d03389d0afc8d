#pragma once
// Events of CUDA devices: those of the tensor layer, with the names of torch.cuda.
#include "tandem/tensor/stream.h"

namespace tandem::cuda {

using tandem::Event;

}  // namespace tandem::cuda
