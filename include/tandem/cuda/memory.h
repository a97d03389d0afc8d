#pragma once
// Memory of CUDA devices: statistics and control of the caching allocator, named as in torch.cuda. Index -1 means the
// current device. Without a device, statistics are 0.
#include <cstdint>
#include <memory>
#include <utility>

#include "tandem/tensor/allocator.h"

namespace tandem {
class Tensor;
}

namespace tandem::cuda {

class Stream;

AllocatorStats memory_stats(int device = -1);
int64_t memory_allocated(int device = -1);
/// Peak since the process began or the last reset_peak_memory_stats().
int64_t max_memory_allocated(int device = -1);
int64_t memory_reserved(int device = -1);
int64_t max_memory_reserved(int device = -1);
void reset_peak_memory_stats(int device = -1);
/// Gives all cached free blocks of all devices back to the driver.
void empty_cache();
/// Free and total bytes of a device, as the driver sees them.
std::pair<size_t, size_t> mem_get_info(int device = -1);

/// At least `bytes` bytes of the current device for work on the current stream, aligned to 512. Throws OutOfMemoryError
/// with requested, free, reserved and allocated bytes, after giving cached blocks back and trying again.
void* allocate(size_t bytes);
/// Takes back a block that allocate() returned, on any device. Work on the stream that it was allocated for may still
/// use it. Never throws.
void deallocate(void* block) noexcept;
/// Says that `stream`, too, uses the block: once freed, it is handed out again only after that work is done.
void record_stream(void* block, const Stream& stream);

/// Page-locked host memory, from a cache: copies from and to it run beside the host's work. Throws OutOfMemoryError.
std::shared_ptr<void> allocate_pinned(size_t bytes);
/// True for an address in a block of allocate_pinned().
bool is_pinned(const void* address);
/// Says that work given to `stream` so far uses the page-locked block around `address`: once freed, the block is handed
/// out again only after that work is done. Does nothing for other addresses.
void record_pinned(const void* address, const Stream& stream);
/// Copies the elements of a contiguous tensor to page-locked memory, on the current stream of its device and without a
/// wait: an event recorded behind it says when they have arrived. The block may be freed before that.
void copy_to_pinned(void* pinned, const Tensor& source);

}  // namespace tandem::cuda
