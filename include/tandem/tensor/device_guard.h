#pragma once
// DeviceGuard: the calling thread's current device within a scope.
#include "tandem/tensor/accelerator.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Makes a device the current one until the end of the scope. Does nothing for a CPU device or index -1. Throws
/// DeviceError if there is no such device.
class [[nodiscard]] DeviceGuard {
 public:
  explicit DeviceGuard(Device device) {
    if (device.is_cpu() || device.index() < 0) return;
    const int previous = accelerator().exchange_device(device.index());
    if (previous != device.index()) previous_ = previous;
  }
  explicit DeviceGuard(int device) : DeviceGuard(Device(kCUDA, device)) {}
  ~DeviceGuard() {
    if (previous_ >= 0) accelerator().restore_device(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;  ///< -1: nothing to restore
};

}  // namespace tandem
#pragma GCC visibility pop
