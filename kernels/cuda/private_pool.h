#pragma once
// PrivatePool: device memory of CUDA graphs, apart from everybody else's. Internal.
#include <algorithm>
#include <map>
#include <vector>

#include "kernels/cuda/caching_allocator.h"
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// Segments that stay reserved while it lives: a graph's kernels know addresses in them.
class PrivatePool {
 public:
  explicit PrivatePool(int device) : device_(device) {}
  ~PrivatePool();
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  int device() const { return device_; }
  /// What stands in the allocator for this pool's blocks of a stream.
  CachingAllocator::Stream key_of(const void* stream);
  bool owns(CachingAllocator::Stream key) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const auto& entry) { return entry.second == key; });
  }

 private:
  int device_;
  std::map<const void*, CachingAllocator::Stream> keys_;
};

/// From here on the calling thread allocates on the pool's device from the pool. Memory from elsewhere that it frees is
/// set aside, since what is being captured may use it in every replay.
void begin_private_memory(PrivatePool& pool);
/// Until here. Returns the memory that was set aside.
std::vector<void*> end_private_memory();
/// While it lives, the calling thread allocates as if it did not capture.
class [[nodiscard]] OutsidePrivateMemory {
 public:
  OutsidePrivateMemory();
  ~OutsidePrivateMemory();
  OutsidePrivateMemory(const OutsidePrivateMemory&) = delete;
  OutsidePrivateMemory& operator=(const OutsidePrivateMemory&) = delete;

 private:
  PrivatePool* pool_;
};
/// Frees memory that was set aside, once the work that `last` has been given is done.
void free_set_aside(const std::vector<void*>& blocks, const Stream& last);

}  // namespace tandem::cuda
