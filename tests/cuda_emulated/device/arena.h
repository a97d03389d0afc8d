#pragma once
// The emulated devices' memory: host memory that is closed to host code. A device's segments are open only while it
// works, so host code that accesses a tensor of a device crashes, as on a machine with a GPU, and so do kernels that
// access another device's memory. Between the segments are pages that stay closed. New memory is filled with NaNs, so
// that uninitialized values are noticed.
#include <cstddef>
#include <span>

namespace tandem::cuda::emulated {

inline constexpr int kDevices = 4;                       ///< at most
inline constexpr size_t kDeviceBytes = size_t{1} << 30;  ///< of each device

/// Returns a segment, or null if the device has no room for it.
void* take_segment(int device, size_t bytes);
void give_back_segment(void* segment);
size_t free_bytes(int device);
/// Returns the device whose memory contains the address, or -1.
int device_of_memory(const void* address);

/// Returns the segment that contains the address, in its exact size, if its device is working; empty otherwise.
std::span<const std::byte> open_segment(const void* address);
/// A set of devices: bit i is device i.
using DeviceSet = unsigned;
constexpr DeviceSet only(int device) { return device < 0 ? 0 : 1u << device; }

/// A scope in which devices work. Their memory is closed at its end; scopes nest.
class [[nodiscard]] OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};
/// Within such a scope: opens the memory of these devices, and closes that of the others.
void open_only(DeviceSet devices);

}  // namespace tandem::cuda::emulated
