#pragma once
// DeviceGuard: the calling thread's current device within a scope.
#include <optional>

#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Makes a device the current one until the end of the scope. Does nothing for a CPU device or index -1. Throws
/// DeviceError if there is no such device.
class DeviceGuard {
 public:
  [[nodiscard]] explicit DeviceGuard(Device device) {
    if (device.is_cpu() || device.index() < 0) return;
    const int previous = accelerator().exchange_device(device.index());
    if (previous != device.index()) previous_ = previous;
  }
  [[nodiscard]] explicit DeviceGuard(int device) : DeviceGuard(Device(kCUDA, device)) {}
  ~DeviceGuard() {
    if (previous_ >= 0) accelerator().restore_device(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;  ///< -1: nothing to restore
};

/// Where a tensor is, for guards; nothing if it is undefined.
inline std::optional<Device> device_of(const Tensor& x) {
  return x.defined() ? std::optional<Device>(x.device()) : std::nullopt;
}

}  // namespace tandem
#pragma GCC visibility pop
