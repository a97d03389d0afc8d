#pragma once
// A whole CUDA device on the CPU, for running training steps without a GPU: memory is the CPU's, kernels run in the
// emulator when they are launched, and what is given to a stream that is being captured is recorded and runs when the
// graph is launched. New memory is filled with NaNs, so that values which were never written show.
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

/// Whether recorded events are done; at first they are.
void set_events_done(bool done);

}  // namespace tandem::cuda::emulated
