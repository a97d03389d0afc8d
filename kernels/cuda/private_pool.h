#pragma once
// PrivatePool: device memory of CUDA graphs, separate from other memory. Internal.
#include <algorithm>
#include <map>
#include <vector>

#include "kernels/cuda/caching_allocator.h"
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// Segments that stay reserved while the pool exists: a graph's kernels contain addresses in them.
class PrivatePool {
 public:
  explicit PrivatePool(int device) : device_(device) {}
  ~PrivatePool();
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  int device() const { return device_; }
  /// The key under which the allocator holds this pool's blocks for a stream.
  CachingAllocator::Stream key_of(const void* stream);
  bool owns(CachingAllocator::Stream key) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const auto& entry) { return entry.second == key; });
  }

 private:
  int device_;
  std::map<const void*, CachingAllocator::Stream> keys_;
};

/// From here on the calling thread's allocations on the pool's device come from the pool. Other memory that it frees is
/// set aside, since the captured work may use it in every replay.
void begin_private_memory(PrivatePool& pool);
/// A block of device memory that was set aside.
struct SetAside {
  void* block;
  Device device;
};
/// Ends begin_private_memory(). Returns the memory that was set aside.
std::vector<SetAside> end_private_memory();
/// During its lifetime, the calling thread allocates as if it were not capturing.
class [[nodiscard]] OutsidePrivateMemory {
 public:
  OutsidePrivateMemory();
  ~OutsidePrivateMemory();
  OutsidePrivateMemory(const OutsidePrivateMemory&) = delete;
  OutsidePrivateMemory& operator=(const OutsidePrivateMemory&) = delete;

 private:
  PrivatePool* pool_;
};
/// Frees memory that was set aside, after the current work of `last` is done.
void free_set_aside(const std::vector<SetAside>& blocks, const Stream& last);

}  // namespace tandem::cuda
