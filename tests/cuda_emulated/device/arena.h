#pragma once
// The emulated device's memory: host memory that is closed to host code. Its segments are open only while the device
// works, so host code that accesses a tensor of the device crashes, as on a machine with a GPU. Between the segments
// are pages that stay closed. New memory is filled with NaNs, so that uninitialized values are noticed.
#include <cstddef>

namespace tandem::cuda::emulated {

inline constexpr size_t kDeviceBytes = size_t{1} << 30;

/// Returns a segment, or null if the device has no room for it.
void* take_segment(size_t bytes);
void give_back_segment(void* segment);
size_t free_bytes();
bool is_device_memory(const void* address);

/// Opens the segments until the end of the scope; scopes nest.
class [[nodiscard]] OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

}  // namespace tandem::cuda::emulated
