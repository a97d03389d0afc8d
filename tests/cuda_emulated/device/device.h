#pragma once
// A whole CUDA device on the CPU, for running programs on kCUDA without a GPU: its memory is the host's, but closed to
// host code (arena.h); kernels run in the emulator, as late as the order of streams allows (queue.h); what is given to
// a stream that is being captured is recorded and runs when the graph is launched. It takes the place of the CUDA
// runtime under kernels/cuda/*.cpp, blas.cpp that of cuBLASLt, and dnn.cpp that of cuDNN.
#include <cstdint>

namespace tandem::cuda::emulated {

/// What was asked of the device since reset(): work that a graph runs counts as one launch of the graph.
struct Counts {
  int64_t launches = 0;  ///< kernels, products and convolutions
  int64_t graph_launches = 0;
  int64_t waits = 0;        ///< of the host
  int64_t allocations = 0;  ///< of device memory and page-locked memory
  int64_t copies = 0;       ///< between host and device
};
Counts& counts();

/// Whether the device answers that it has not got so far whenever it is asked. At first it gets there then.
void stay_behind(bool on);

/// Makes the device usable again after a kernel has trapped, which no process can with a real one.
void revive_device();

}  // namespace tandem::cuda::emulated
