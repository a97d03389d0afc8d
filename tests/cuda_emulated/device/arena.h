#pragma once
// The emulated device's memory: of the host, but closed to it. Only while the device works are its segments open, so
// that host code which reads or writes a tensor of the device ends there, as it would on a machine with a GPU. Between
// segments lie pages that stay closed. New memory is filled with NaNs, so that values which were never written show.
#include <cstddef>

namespace tandem::cuda::emulated {

inline constexpr size_t kDeviceBytes = size_t{1} << 30;

/// A segment, or null where the device has no room for it.
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
