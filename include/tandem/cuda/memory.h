#pragma once
// Memory of CUDA devices: statistics and control of the caching allocator, with the names of torch.cuda. Index -1 means
// the current device. Without a device, statistics are 0.
#include <cstdint>
#include <utility>

#include "tandem/tensor/allocator.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

/// Returns the statistics of a device's allocator; -1 means the current device.
AllocatorStats memory_stats(int device = -1);
/// Returns the bytes of the blocks in use.
int64_t memory_allocated(int device = -1);
/// Returns the peak since the start of the process or the last reset_peak_memory_stats().
int64_t max_memory_allocated(int device = -1);
/// Returns the bytes taken from the driver, in use or cached, now or at most.
int64_t memory_reserved(int device = -1);
int64_t max_memory_reserved(int device = -1);
/// Makes both peaks start again from the current values.
void reset_peak_memory_stats(int device = -1);
/// Returns all cached free blocks of all devices to the driver.
void empty_cache();
/// Returns the free and total bytes of a device, as reported by the driver.
std::pair<size_t, size_t> mem_get_info(int device = -1);

}  // namespace tandem::cuda
#pragma GCC visibility pop
