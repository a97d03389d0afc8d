// Writes the numbers that graphs read on the device. They are passed as kernel parameters, so no host memory has to
// outlive the call.
#include "kernels/cuda/graph_values.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/tensor_list.h"

namespace tandem::cuda {
namespace {

using Words = InlineTable<kSmallTable>;

__global__ void __launch_bounds__(kThreads) write_words(const Words __grid_constant__ words, int count, uint64_t* to) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) to[i] = words.words[i];
}

}  // namespace

void write_graph_values(void* to, const std::vector<uint64_t>& words) {
  launch(write_words, Launch{}, Words(words), words.size(), static_cast<uint64_t*>(to));
}

}  // namespace tandem::cuda
