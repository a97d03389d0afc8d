#pragma once
// The caching allocator of the CPU. It keeps freed memory for later requests, up to 7/16 of the peak of live memory
// plus 4 MiB.
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tandem {

/// Statistics of a device's allocator, in bytes and counts since the start of the process (peaks: since the last
/// reset).
struct AllocatorStats {
  int64_t allocated_bytes = 0;      ///< in live blocks now
  int64_t max_allocated_bytes = 0;  ///< peak of allocated_bytes
  int64_t reserved_bytes = 0;       ///< obtained from the system: live and cached
  int64_t max_reserved_bytes = 0;   ///< peak of reserved_bytes
  int64_t allocations = 0;          ///< requests served
  int64_t system_allocations = 0;   ///< requests passed on to the system
};

namespace cpu {
/// Allocates at least `bytes` bytes, aligned to 64 bytes; the pointer is valid also for 0 bytes. If that fails, returns
/// cached blocks to the system and tries again. Throws OutOfMemoryError with the requested, allocated and reserved
/// bytes.
void* allocate(size_t bytes);
/// Frees a block that `allocate(bytes)` returned.
void deallocate(void* block, size_t bytes) noexcept;
/// Returns a copy of the current statistics.
AllocatorStats memory_stats();
/// Returns the peak of allocated bytes since the start or the last reset. Named as in torch.cuda.
int64_t max_memory_allocated();
/// Returns the bytes of the blocks in use, and of these and the cached ones.
int64_t memory_allocated();
int64_t memory_reserved();
/// Makes the peak start again from the current value.
void reset_peak_memory_stats();
/// Returns all cached free blocks to the system.
void empty_cache();
}  // namespace cpu

}  // namespace tandem
#pragma GCC visibility pop
