#pragma once
// Streams of CUDA devices: those of the tensor layer, with the names of torch.cuda.
#include "tandem/tensor/stream.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

using tandem::current_stream;
using tandem::set_current_stream;
using tandem::Stream;
using tandem::stream_from_pool;
using tandem::StreamGuard;

}  // namespace tandem::cuda
#pragma GCC visibility pop
