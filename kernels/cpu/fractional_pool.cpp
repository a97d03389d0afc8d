// fractional_argmax.
#include "kernels/fractional_pool.h"

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {

void fractional_argmax(const Tensor& index, const Tensor& x, const Tensor& samples,
                       const std::array<int64_t, 3>& kernel) {
  const kernels::FractionalPool pool(index, x, kernel);
  const int64_t windows = pool.windows(), work = kernel[0] * kernel[1] * kernel[2] + 8;
  kernels::visit_floating(x.dtype(), [&]<class T>(T) {
    using C = kernels::FloatingCompute<T>;
    parallel_for(pool.channels * windows, grain_of(work), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t channel = i / windows;
        const T* const plane = x.raw<T>() + channel * pool.plane();
        const T* const sample = samples.raw<T>() + channel * 3;
        index.raw<int64_t>()[i] = pool.largest<C>(
            static_cast<uint32_t>(i % windows), [&](int64_t k) { return static_cast<C>(plane[k]); },
            [&](int d) { return static_cast<C>(sample[d]); });
      }
    });
  });
}

}  // namespace tandem::cpu
