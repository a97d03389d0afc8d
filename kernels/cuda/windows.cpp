#include "kernels/cuda/windows.h"

#include "tandem/base/check.h"

namespace tandem::cuda {

int32_t window_size(int64_t size) {
  TANDEM_CHECK(size <= kDivisorLimit, NotImplementedError,
               "pooling on CUDA: sizes, paddings and kernels must be less than 2^31, got {}; pool on the CPU", size);
  return static_cast<int32_t>(size);
}

void check_window(int64_t in, int64_t padding, int64_t span) {
  TANDEM_CHECK(in + std::max(padding, span) < kDivisorLimit, NotImplementedError,
               "pooling on CUDA: the size of the image ({}) plus the padding ({}) or the window ({}) must be less than "
               "2^31; pool on the CPU",
               in, padding, span);
}

}  // namespace tandem::cuda
