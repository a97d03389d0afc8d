#include "kernels/cuda/launch.h"

namespace tandem::cuda {

void launch_raw(const void* kernel, const Launch& shape, void** arguments) {
  const cudaStream_t stream = current_handle();
  TANDEM_CUDA(cudaLaunchKernel, kernel, shape.grid, shape.block, arguments, shape.shared_bytes, stream);
  if (is_synchronous()) TANDEM_CUDA(cudaStreamSynchronize, stream);
}

}  // namespace tandem::cuda
