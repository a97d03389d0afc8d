#pragma once
// The caching allocator of the CPU: keeps freed memory for later requests, at most half as much as was live at once.
#include <cstddef>
#include <cstdint>

namespace tandem {

/// Statistics of a device's allocator, in bytes and counts since the process began (peaks: since the last reset).
struct AllocatorStats {
  int64_t allocated_bytes = 0;      ///< in live blocks now
  int64_t max_allocated_bytes = 0;  ///< peak of allocated_bytes
  int64_t reserved_bytes = 0;       ///< taken from the system: live and cached
  int64_t max_reserved_bytes = 0;   ///< peak of reserved_bytes
  int64_t allocations = 0;          ///< requests served
  int64_t system_allocations = 0;   ///< requests that went to the system
};

namespace cpu {
/// At least `bytes` bytes, aligned to 64. Throws OutOfMemoryError with requested, allocated and reserved bytes after
/// giving cached blocks back to the system and trying again. Returns a valid pointer for 0 bytes.
void* allocate(size_t bytes);
/// Takes back a block that `allocate(bytes)` returned. Never throws.
void deallocate(void* block, size_t bytes) noexcept;
/// Copy of the statistics at this moment.
AllocatorStats memory_stats();
/// Peak of allocated bytes since start or the last reset. Named as in torch.cuda.
int64_t max_memory_allocated();
int64_t memory_allocated();
int64_t memory_reserved();
void reset_peak_memory_stats();
/// Gives all cached free blocks back to the system.
void empty_cache();
}  // namespace cpu

}  // namespace tandem
