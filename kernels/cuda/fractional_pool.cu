// fractional_argmax: one thread per window. Deterministic.
#include "kernels/fractional_pool.h"

#include <algorithm>

#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

/// Grid: x steps through the windows of a channel, y through the channels.
template <class T, class C>
__global__ void __launch_bounds__(kThreads)
    largest_in_random_windows(kernels::FractionalPool pool, int64_t* index, const T* x, const T* samples) {
  const uint32_t windows = pool.windows();
  for (int64_t channel = blockIdx.y; channel < pool.channels; channel += gridDim.y) {
    const T* const plane = x + channel * pool.plane();
    const T* const sample = samples + channel * 3;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < windows; i += gridDim.x * blockDim.x) {
      index[channel * windows + i] = pool.template largest<C>(
          i, [&](int64_t k) { return convert<C>(plane[k]); }, [&](int d) { return convert<C>(sample[d]); });
    }
  }
}

}  // namespace

void fractional_argmax(const Tensor& index, const Tensor& x, const Tensor& samples,
                       const std::array<int64_t, 3>& kernel) {
  if (index.numel() == 0) return;
  const DeviceGuard on(x.device());
  const kernels::FractionalPool pool(index, x, kernel);
  const int64_t wide = std::clamp<int64_t>((pool.windows() + kThreads - 1) / kThreads, 1, resident_blocks(kThreads));
  const Launch shape{dim3(static_cast<unsigned>(wide), static_cast<unsigned>(std::min<int64_t>(pool.channels, 65535))),
                     dim3(kThreads), 0};
  visit_floating(x.dtype(), [&]<class T>(T) {
    launch(largest_in_random_windows<T, typename ComputeOf<T>::type>, shape, pool, index.raw<int64_t>(), x.raw<T>(),
           samples.raw<T>());
  });
}

}  // namespace tandem::cuda
