// Which backend serves a device type, and what a call of an empty slot says.
#include "tandem/backend.h"

#include "tandem/base/check.h"
#include "tandem/cuda/device.h"

namespace tandem {

void throw_no_kernel(const Tensor* first) {
  const char* op = running_op();
  if (first && first->defined()) {
    TANDEM_THROW(NotImplementedError,
                 "{}: no kernel for {} on {}; move the tensors to another device or use another op", op,
                 name(first->dtype()), first->device().str());
  }
  TANDEM_THROW(NotImplementedError,
               "{}: no kernel on this device; move the tensors to another device or use another op", op);
}

const Backend& backend(DeviceType type) {
  if (type == DeviceType::CPU) return cpu::backend();
  TANDEM_CHECK(cuda::is_available(), DeviceError, "{}: device cuda is not available: {}; use Device(kCPU)",
               running_op(), cuda::unavailable_reason());
  return cuda::backend();
}

}  // namespace tandem
