#pragma once
// The device of new tensors whose options name none.
#include "tandem/tensor/context.h"

namespace tandem {

/// Where this thread's factories (`zeros`, `randn`, `tensor`, ...) and modules make tensors when the options name no
/// device: the CPU until set_default_device says otherwise. As torch.get_default_device.
inline Device get_default_device() { return thread_state().default_device; }

/// Sets it for the calling thread; other threads keep theirs, unless ThreadContext carries it to them. Of no effect on
/// what is in the host's memory by nature: `from_blob`, tensors read from files, datasets and samplers, state that is
/// numbers. As torch.set_default_device. Throws DeviceError when this machine has no such device.
void set_default_device(Device device);

/// Sets it until the end of the scope. As `with torch.device(...)`.
///
///     const DefaultDeviceGuard on_gpu(kCUDA);
///     Net net;  // parameters on the GPU
class [[nodiscard]] DefaultDeviceGuard {
 public:
  /// Throws DeviceError when this machine has no such device.
  explicit DefaultDeviceGuard(Device device) : previous_(get_default_device()) { set_default_device(device); }
  explicit DefaultDeviceGuard(DeviceType type) : DefaultDeviceGuard(Device(type)) {}
  ~DefaultDeviceGuard() { thread_state().default_device = previous_; }
  DefaultDeviceGuard(const DefaultDeviceGuard&) = delete;
  DefaultDeviceGuard& operator=(const DefaultDeviceGuard&) = delete;

 private:
  Device previous_;
};

}  // namespace tandem
