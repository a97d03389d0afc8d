#include "tandem/tensor/accelerator.h"

#include "tandem/base/check.h"
#include "tandem/tensor/stream.h"

namespace tandem {

void Accelerator::throw_unavailable() const {
  TANDEM_THROW(DeviceError, "device cuda is not available: {}; use Device(kCPU)", unavailable_reason());
}

Stream Accelerator::make_stream(Device device, void* handle) { return {device, handle}; }

}  // namespace tandem
