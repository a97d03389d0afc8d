#pragma once
// What functions that need a CUDA device check alike. Internal.
#include "tandem/cuda/device.h"

namespace tandem::cuda {

/// Throws DeviceError: that `call` (or the op that runs) needs a CUDA device, and why there is none.
[[noreturn]] void throw_unavailable(const char* call = "tandem");
/// Throws DeviceError unless a CUDA device is available.
inline void check_available(const char* call = "tandem") {
  if (!is_available()) throw_unavailable(call);
}

}  // namespace tandem::cuda
