// The CUDA backend: assigns a function to each slot.
#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/kernels.h"

namespace tandem::cuda {

const Backend& CudaAccelerator::backend() const {
  static constexpr Backend table = [] {
    Backend table;
    table.device = kCUDA;
#define TANDEM_SLOT(NAME, SIGNATURE) table.NAME = NAME;
#include "tandem/backend.inc"
    return table;
  }();
  return table;
}

}  // namespace tandem::cuda
