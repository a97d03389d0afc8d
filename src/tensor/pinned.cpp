// Page-locked tensors, and tensors used by several streams.
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/factories.h"

namespace tandem {

bool Tensor::is_pinned(std::optional<Device> /*device*/) const {
  TensorImpl& x = checked("is_pinned");
  return x.storage->device().is_cpu() && accelerator().is_pinned(x.storage->data_unresolved());
}

Tensor Tensor::pin_memory(std::optional<Device> /*device*/) const {
  const OpScope op("pin_memory");
  checked("pin_memory");
  TANDEM_CHECK(is_cpu(), DeviceError, "the tensor is on {}; only host memory can be page-locked: call cpu() first",
               device().str());
  if (is_pinned()) return *this;
  const Tensor pinned = empty_like(*this, TensorOptions().pinned_memory(true));
  if (pinned.numel() > 0) backend(pinned).copy(pinned, *this);
  return pinned;
}

void Tensor::record_stream(const Stream& stream) const {
  const OpScope op("record_stream");
  TensorImpl& x = checked("record_stream");
  TANDEM_CHECK(is_cuda(), DeviceError, "the tensor is on {}, which has no streams; call it on a CUDA tensor",
               device().str());
  accelerator().record_stream(x.storage->data_unresolved(), x.storage->device(), stream);
}

}  // namespace tandem
