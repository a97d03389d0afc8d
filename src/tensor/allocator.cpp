// The caching allocator of the CPU.
//
// Every size class has a list of free blocks under a lock of its own, so threads meet only when they use the same size
// at the same moment. Small blocks are cut from slabs; from 2 MiB on a block is a mapping with huge pages. A free block
// holds the link to the next one in its first bytes.
#include "tandem/tensor/allocator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "src/tensor/size_class.h"
#include "src/tensor/system_memory.h"
#include "tandem/base/check.h"

namespace tandem::cpu {
namespace {

constexpr size_t kPage = 4096;
// Two large blocks exactly 2^28 bytes apart make loops over both 2 to 3 times slower on some processors. Large blocks
// begin at 2 MiB boundaries plus a colour, one of 16 pages in turn.
constexpr size_t kColours = 16;
// Under AddressSanitizer a block is followed by bytes that nobody may touch.
constexpr size_t kRedZone = kPoisoning ? 64 : 0;

struct FreeBlock {
  FreeBlock* next;
};

struct Slab {
  char* base;
  size_t free_blocks;  // scratch of release_slabs
};

struct alignas(128) Bin {  // two cache lines: neighbours are fetched in pairs
  std::mutex mutex;
  FreeBlock* free = nullptr;
  int64_t allocations = 0;
  // Small classes only: blocks from `fresh` to `fresh_end`, the end of one of the slabs, were never handed out.
  char* fresh = nullptr;
  char* fresh_end = nullptr;
  std::vector<Slab> slabs;  // by address
};

struct Allocator {
  Bin bins[kNumSizeClasses];
  std::atomic<int64_t> allocated{0}, max_allocated{0}, reserved{0}, max_reserved{0}, system_allocations{0};
  std::atomic<size_t> next_colour{0};
};

Allocator& instance() {
  static Allocator& allocator = *new Allocator;  // never destroyed: tensors in static objects are freed after main
  return allocator;
}

void add_with_peak(std::atomic<int64_t>& value, std::atomic<int64_t>& peak, size_t bytes) {
  const int64_t add = static_cast<int64_t>(bytes);
  const int64_t now = value.fetch_add(add, std::memory_order_relaxed) + add;
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

size_t round_to_page(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
size_t large_mapping_bytes(size_t bytes) { return round_to_page(bytes + (kColours - 1) * kPage); }
size_t slab_bytes(size_t bytes) { return std::clamp(8 * bytes, size_t{256} << 10, size_t{4} << 20); }

void* map_counted(Allocator& a, size_t bytes, size_t alignment) noexcept {
  void* block = map_memory(bytes, alignment, alignment == kLargeBytes);
  if (!block) return nullptr;
  a.system_allocations.fetch_add(1, std::memory_order_relaxed);
  add_with_peak(a.reserved, a.max_reserved, bytes);
  return block;
}

void unmap_counted(Allocator& a, void* block, size_t bytes) noexcept {
  unmap_memory(block, bytes);
  a.reserved.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void push(Bin& bin, void* block, size_t bytes) noexcept {
  unpoison(block, sizeof(FreeBlock));
  bin.free = new (block) FreeBlock{bin.free};
  poison(block, bytes);
}

void* pop(Bin& bin) noexcept {
  FreeBlock* f = bin.free;
  if (f) {
    unpoison(f, sizeof(FreeBlock));
    bin.free = f->next;
  }
  return f;
}

std::vector<Slab>::iterator slab_after(Bin& bin, void* block) noexcept {
  return std::upper_bound(bin.slabs.begin(), bin.slabs.end(), static_cast<char*>(block),
                          [](char* p, const Slab& slab) { return p < slab.base; });
}

// A block that was never handed out, from the newest slab or a new one; null when the system refuses.
void* carve(Allocator& a, Bin& bin, size_t bytes) {
  if (bin.fresh == bin.fresh_end) {
    const size_t size = slab_bytes(bytes);
    bin.slabs.reserve(bin.slabs.size() + 1);  // throws before there is a slab to lose
    char* base = static_cast<char*>(map_counted(a, size, size >= kLargeBytes ? kLargeBytes : kPage));
    if (!base) return nullptr;
    poison(base, size);
    bin.slabs.insert(slab_after(bin, base), {base, 0});
    bin.fresh = base;
    bin.fresh_end = base + size / bytes * bytes;
  }
  return std::exchange(bin.fresh, bin.fresh + bytes);
}

void* map_large(Allocator& a, size_t bytes) noexcept {
  char* base = static_cast<char*>(map_counted(a, large_mapping_bytes(bytes), kLargeBytes));
  if (!base) return nullptr;
  poison(base, large_mapping_bytes(bytes));
  return base + a.next_colour.fetch_add(1, std::memory_order_relaxed) % kColours * kPage;
}

void unmap_large(Allocator& a, void* block, size_t bytes) noexcept {
  char* base = static_cast<char*>(block) - reinterpret_cast<uintptr_t>(block) % kLargeBytes;
  unmap_counted(a, base, large_mapping_bytes(bytes));
}

void* take(Allocator& a, SizeClass c) {
  Bin& bin = a.bins[c.index];
  const bool large = c.bytes >= kLargeBytes;
  {
    const std::lock_guard lock(bin.mutex);
    void* block = pop(bin);
    if (!block && !large) block = carve(a, bin, c.bytes);
    if (block) {
      ++bin.allocations;
      return block;
    }
  }
  void* block = large ? map_large(a, c.bytes) : nullptr;
  if (block) {
    const std::lock_guard lock(bin.mutex);
    ++bin.allocations;
  }
  return block;
}

// Gives back the slabs whose blocks are all free. No allocation: it may run because memory is short.
void release_slabs(Allocator& a, Bin& bin, size_t bytes) noexcept {
  const size_t blocks = slab_bytes(bytes) / bytes;
  const auto is_newest = [&](const Slab& slab) { return bin.fresh_end == slab.base + blocks * bytes; };
  const auto is_free = [&](const Slab& slab) {
    return slab.free_blocks == (is_newest(slab) ? static_cast<size_t>(bin.fresh - slab.base) / bytes : blocks);
  };
  for (Slab& slab : bin.slabs) slab.free_blocks = 0;
  FreeBlock* all = nullptr;  // counted, and unlinked from the bin
  while (void* block = pop(bin)) {
    ++(slab_after(bin, block) - 1)->free_blocks;
    all = new (block) FreeBlock{all};
  }
  while (all) {
    FreeBlock* block = std::exchange(all, all->next);
    if (!is_free(*(slab_after(bin, block) - 1))) push(bin, block, bytes);
  }
  bool newest_gone = false;
  const auto gone = std::remove_if(bin.slabs.begin(), bin.slabs.end(), [&](const Slab& slab) {
    if (!is_free(slab)) return false;
    newest_gone = newest_gone || is_newest(slab);
    unmap_counted(a, slab.base, slab_bytes(bytes));
    return true;
  });
  bin.slabs.erase(gone, bin.slabs.end());
  if (newest_gone) bin.fresh = bin.fresh_end = nullptr;
}

}  // namespace

void* allocate(size_t bytes) {
  Allocator& a = instance();
  if (bytes <= kMaxBlockBytes - kRedZone) {
    const SizeClass c = size_class(bytes + kRedZone);
    void* block = take(a, c);
    if (!block) {
      empty_cache();
      block = take(a, c);
    }
    if (block) {
      unpoison(block, bytes);
      add_with_peak(a.allocated, a.max_allocated, c.bytes);
      return block;
    }
  }
  TANDEM_THROW(
      OutOfMemoryError,
      "{}: out of memory: {} bytes requested, {} bytes allocated, {} bytes reserved on the CPU; free tensors or "
      "use smaller batches",
      running_op("allocate"), bytes, a.allocated.load(), a.reserved.load());
}

void deallocate(void* block, size_t bytes) noexcept {
  Allocator& a = instance();
  const SizeClass c = size_class(bytes + kRedZone);
  a.allocated.fetch_sub(static_cast<int64_t>(c.bytes), std::memory_order_relaxed);
  Bin& bin = a.bins[c.index];
  const std::lock_guard lock(bin.mutex);
  push(bin, block, c.bytes);
}

AllocatorStats memory_stats() {
  Allocator& a = instance();
  AllocatorStats stats;
  stats.allocated_bytes = a.allocated;
  stats.max_allocated_bytes = a.max_allocated;
  stats.reserved_bytes = a.reserved;
  stats.max_reserved_bytes = a.max_reserved;
  stats.system_allocations = a.system_allocations;
  for (Bin& bin : a.bins) {
    const std::lock_guard lock(bin.mutex);
    stats.allocations += bin.allocations;
  }
  return stats;
}

int64_t max_memory_allocated() { return instance().max_allocated; }
int64_t memory_allocated() { return instance().allocated; }
int64_t memory_reserved() { return instance().reserved; }

void reset_peak_memory_stats() {
  Allocator& a = instance();
  a.max_allocated = a.allocated.load();
  a.max_reserved = a.reserved.load();
}

void empty_cache() {
  Allocator& a = instance();
  for (int i = 0; i < kNumSizeClasses; ++i) {
    Bin& bin = a.bins[i];
    const std::lock_guard lock(bin.mutex);
    if (class_bytes(i) < kLargeBytes) {
      release_slabs(a, bin, class_bytes(i));
    } else {
      while (void* block = pop(bin)) unmap_large(a, block, class_bytes(i));
    }
  }
}

}  // namespace tandem::cpu
