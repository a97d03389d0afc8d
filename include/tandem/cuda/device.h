#pragma once
// CUDA devices: which there are, and which one a thread works on. Named as in torch.cuda. In a build without CUDA there
// are none.
#include <cstddef>
#include <string>

#include "tandem/base/device.h"

namespace tandem::cuda {

/// True when the build has CUDA and a usable device is present.
bool is_available();
/// Why not, in one sentence: no CUDA in the build, no device, a driver older than the toolkit, an architecture that the
/// build has no code for. Empty when a device is available.
const std::string& unavailable_reason();
/// The devices that are present.
int device_count();
/// The device that the calling thread works on, from 0. Throws DeviceError where there is none.
int current_device();
/// Throws DeviceError on an index that is not there.
void set_device(int device);
/// Waits until the current device has done all work. Throws BackendError when some of it failed.
void synchronize();

/// What a device is.
struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multi_processor_count = 0;
  size_t total_memory = 0;  ///< bytes
};
/// Throws DeviceError on an index that is not there.
const DeviceProperties& get_device_properties(int device);

/// Makes a device the current one until the end of the scope. Does nothing for a CPU device or index -1.
class [[nodiscard]] DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  explicit DeviceGuard(int device) : DeviceGuard(Device(kCUDA, device)) {}
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;  ///< -1: nothing to restore
};

}  // namespace tandem::cuda
