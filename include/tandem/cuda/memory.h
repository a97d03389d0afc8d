#pragma once
// Memory of CUDA devices: statistics and control of the caching allocator, with the names of torch.cuda. Index -1 means
// the current device. Without a device, statistics are 0.
#include <cstdint>
#include <memory>
#include <utility>

#include "tandem/tensor/allocator.h"

#pragma GCC visibility push(default)
namespace tandem {
class Tensor;
}

namespace tandem::cuda {

class Stream;

AllocatorStats memory_stats(int device = -1);
int64_t memory_allocated(int device = -1);
/// Returns the peak since the start of the process or the last reset_peak_memory_stats().
int64_t max_memory_allocated(int device = -1);
int64_t memory_reserved(int device = -1);
int64_t max_memory_reserved(int device = -1);
void reset_peak_memory_stats(int device = -1);
/// Returns all cached free blocks of all devices to the driver.
void empty_cache();
/// Returns the free and total bytes of a device, as reported by the driver.
std::pair<size_t, size_t> mem_get_info(int device = -1);

/// Allocates at least `bytes` bytes on the current device, aligned to 512 bytes, for work on the current stream. If
/// that fails, returns cached blocks to the driver and tries again. Throws OutOfMemoryError with the requested, free,
/// reserved and allocated bytes.
void* allocate(size_t bytes);
/// Frees a block from allocate(), on any device. Work on the stream that it was allocated for may still use it.
void deallocate(void* block) noexcept;
/// Records that `stream` also uses the block: after deallocate(), the block is reused only when that work is done.
void record_stream(void* block, const Stream& stream);

/// Allocates page-locked host memory from a cache. Copies from and to it can run asynchronously to the host. Throws
/// OutOfMemoryError.
std::shared_ptr<void> allocate_pinned(size_t bytes);
/// Returns true for an address in a block of allocate_pinned().
bool is_pinned(const void* address);
/// Records that work submitted to `stream` so far uses the page-locked block that contains `address`: once freed, the
/// block is reused only when that work is done. Does nothing for other addresses.
void record_pinned(const void* address, const Stream& stream);
/// Copies the elements of a contiguous tensor to page-locked memory, on the current stream of its device and without
/// waiting: record an event after it to learn when they have arrived. The block may be freed before that.
void copy_to_pinned(void* pinned, const Tensor& source);

}  // namespace tandem::cuda
#pragma GCC visibility pop
