#pragma once
// CUDA devices: those present, and the current device of each thread. Names are those of torch.cuda. A build without
// CUDA has no devices.
#include <cstddef>
#include <string>

#include "tandem/tensor/device_guard.h"
#include "tandem/tensor/random.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

/// Returns true if the build has CUDA and a usable device is present.
bool is_available();
/// Returns one sentence that says why no device is available: no CUDA in the build, no device, a driver older than the
/// toolkit, or an architecture that the build has no code for. Empty when a device is available.
const std::string& unavailable_reason();
/// Returns the number of devices.
int device_count();
/// Returns the index of the calling thread's current device, from 0. Throws DeviceError if no device is available.
int current_device();
/// Sets the calling thread's current device. Throws DeviceError if there is no device with this index.
void set_device(int device);
/// Waits until the current device has finished all work. Throws BackendError if any of it failed.
void synchronize();

/// Properties of a device.
struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multi_processor_count = 0;
  size_t total_memory = 0;  ///< bytes
};
/// Throws DeviceError if there is no device with this index.
const DeviceProperties& get_device_properties(int device);

/// Returns true if the current device multiplies bf16 matrices (compute capability 8.0 and above). On other devices
/// matrix products and convolutions of bf16 throw NotImplementedError; f16 works.
inline bool is_bf16_supported() { return is_available() && get_device_properties(current_device()).major >= 8; }

/// The default generator serves all devices, so these are tandem::manual_seed.
inline void manual_seed(uint64_t seed) { tandem::manual_seed(seed); }
inline void manual_seed_all(uint64_t seed) { tandem::manual_seed(seed); }

using tandem::DeviceGuard;

}  // namespace tandem::cuda
#pragma GCC visibility pop
