// Page-locked host memory: a cache of blocks, each with events after the copies that last used it.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"

namespace tandem::cuda {
namespace {

struct Block {
  char* data;
  size_t bytes;  ///< a power of two
  /// One event per stream that has used the block, recorded again at each use, so that a loop creates no events.
  std::vector<std::pair<Stream, cudaEvent_t>> uses;

  bool idle() const {
    return std::all_of(uses.begin(), uses.end(), [](const auto& use) { return is_done(use.second); });
  }
};

struct Cache {
  std::mutex mutex;
  std::map<const char*, Block> blocks;     ///< all blocks, by address
  std::multimap<size_t, Block*> returned;  ///< freed blocks, by size; copies may still use them
};
Cache& cache() {
  static Cache& all = *new Cache;  // never destroyed: tensors may outlive it, and the driver may be unloaded by then
  return all;
}

/// The block that contains an address, or null. The mutex must be held.
Block* find(Cache& all, const void* address) {
  const char* byte = static_cast<const char*>(address);
  auto after = all.blocks.upper_bound(byte);
  if (after == all.blocks.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return byte < block.data + block.bytes ? &block : nullptr;
}

Block* take_returned(Cache& all, size_t bytes) {
  const auto [first, last] = all.returned.equal_range(bytes);
  for (auto it = first; it != last; ++it) {
    Block* block = it->second;
    if (!block->idle()) continue;
    all.returned.erase(it);
    return block;
  }
  return nullptr;
}

Block* take_new(Cache& all, size_t bytes) {
  const OpScope op("allocate_pinned");
  void* data = nullptr;
  const RelaxedCapture relaxed;
  const cudaError_t code = driver().cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (code != cudaSuccess) driver().cudaGetLastError();
  TANDEM_CHECK(code == cudaSuccess, OutOfMemoryError, "cannot allocate {} bytes of page-locked memory: {}; use less",
               bytes, ::cudaGetErrorString(code));
  auto* begin = static_cast<char*>(data);
  return &all.blocks.emplace(begin, Block{begin, bytes, {}}).first->second;
}

}  // namespace

std::shared_ptr<void> CudaAccelerator::allocate_pinned(size_t bytes) const {
  size_t size = 4096;
  while (size < bytes) size *= 2;
  Cache& all = cache();
  const std::lock_guard lock(all.mutex);
  Block* block = take_returned(all, size);
  if (!block) block = take_new(all, size);
  return {block->data, [block](void*) {
            Cache& all = cache();
            const std::lock_guard lock(all.mutex);
            all.returned.emplace(block->bytes, block);
          }};
}

bool CudaAccelerator::is_pinned(const void* address) const {
  Cache& all = cache();
  const std::lock_guard lock(all.mutex);
  return find(all, address) != nullptr;
}

void record_pinned(const void* address, const Stream& stream) {
  Cache& all = cache();
  const std::lock_guard lock(all.mutex);
  Block* block = find(all, address);
  if (!block) return;
  auto use = std::find_if(block->uses.begin(), block->uses.end(), [&](const auto& u) { return u.first == stream; });
  if (use == block->uses.end()) use = block->uses.insert(use, {stream, nullptr});
  const QuietDeviceGuard on(stream.device().index());
  record_or_wait(use->second, static_cast<cudaStream_t>(stream.handle()));
}

}  // namespace tandem::cuda
