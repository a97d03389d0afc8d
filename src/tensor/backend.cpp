// Selects the backend of a device type, and reports calls of empty slots.
#include "tandem/backend.h"

#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"

namespace tandem {

void throw_no_kernel(const Tensor* first) {
  if (first && first->defined()) {
    TANDEM_THROW(NotImplementedError, "no kernel for {} on {}; move the tensors to another device or use another op",
                 name(first->dtype()), first->device().str());
  }
  TANDEM_THROW(NotImplementedError, "no kernel on this device; move the tensors to another device or use another op");
}

const Backend& backend(DeviceType type) {
  if (type == DeviceType::CPU) return cpu::backend();
  accelerator().check_available();
  return accelerator().backend();
}

}  // namespace tandem
