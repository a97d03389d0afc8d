#pragma once
// The default device: where new tensors are made if their options name no device.
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the device on which this thread's factories (`zeros`, `randn`, `tensor`, ...) and modules make tensors if
/// the options name no device. Initially the CPU. As torch.get_default_device.
inline Device get_default_device() { return thread_state().default_device; }

/// Sets the default device of the calling thread. Other threads keep theirs, unless ThreadContext passes it on to them.
/// Does not affect tensors that are always in host memory: those of `from_blob`, tensors read from files, the data of
/// datasets and samplers, and numbers in state dictionaries. As torch.set_default_device. Throws DeviceError if this
/// machine has no such device.
void set_default_device(Device device);

/// Sets the default device until the end of the scope. As `with torch.device(...)`.
///
///     const DefaultDeviceGuard on_gpu(kCUDA);
///     Net net;  // parameters on the GPU
class DefaultDeviceGuard {
 public:
  /// Throws DeviceError if this machine has no such device.
  [[nodiscard]] explicit DefaultDeviceGuard(Device device) : previous_(get_default_device()) {
    set_default_device(device);
  }
  [[nodiscard]] explicit DefaultDeviceGuard(DeviceType type) : DefaultDeviceGuard(Device(type)) {}
  ~DefaultDeviceGuard() { thread_state().default_device = previous_; }
  DefaultDeviceGuard(const DefaultDeviceGuard&) = delete;
  DefaultDeviceGuard& operator=(const DefaultDeviceGuard&) = delete;

 private:
  Device previous_;
};

}  // namespace tandem
#pragma GCC visibility pop
