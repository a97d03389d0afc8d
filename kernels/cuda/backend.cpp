// The CUDA backend: assigns a function to each slot.
#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/kernels.h"

namespace tandem::cuda {

const Backend& CudaAccelerator::backend() const {
  static constexpr Backend table = [] {
    Backend table;
    table.device = kCUDA;
    TANDEM_SLOTS(TANDEM_FILL_SLOT)
    return table;
  }();
  return table;
}

}  // namespace tandem::cuda
