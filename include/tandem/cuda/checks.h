#pragma once
// Checks shared by the functions that need a CUDA device. Internal.
#include "tandem/cuda/device.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

/// Throws DeviceError. The message says that the running op (or `call` outside ops) needs a CUDA device, and why there
/// is none.
[[noreturn]] void throw_unavailable(const char* call = "tandem");
/// Throws DeviceError unless a CUDA device is available.
inline void check_available(const char* call = "tandem") {
  if (!is_available()) throw_unavailable(call);
}

}  // namespace tandem::cuda
#pragma GCC visibility pop
