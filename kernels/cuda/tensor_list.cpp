// Upload of tables that are too large for kernel parameters.
#include "kernels/cuda/tensor_list.h"

#include <memory>
#include <utility>

#include "kernels/cuda/runtime.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {

Tensor upload(const std::vector<uint64_t>& words) {
  const Tensor table =
      empty({static_cast<int64_t>(words.size())}, TensorOptions(kLong).device(Device(kCUDA, current_device())));
  const cudaStream_t stream = current_handle();
  const size_t bytes = words.size() * sizeof(words[0]);
  std::shared_ptr<void> block = accelerator().allocate_pinned(bytes);
  std::memcpy(block.get(), words.data(), bytes);
  TANDEM_CUDA(cudaMemcpyAsync, table.raw_bytes(), block.get(), bytes, cudaMemcpyHostToDevice, stream);
  if (GraphCapture* capture = current_capture()) {
    capture->hold(std::move(block));  // the graph repeats the copy at each replay
  } else {
    record_pinned(block.get(), current_stream());
  }
  return table;
}

}  // namespace tandem::cuda
