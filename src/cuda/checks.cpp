#include "tandem/cuda/checks.h"

#include "tandem/base/check.h"

namespace tandem::cuda {

void throw_unavailable(const char* call) {
  const OpScope op(call);
  TANDEM_THROW(DeviceError, "device cuda is not available: {}; use Device(kCPU)", unavailable_reason());
}

}  // namespace tandem::cuda
