// The caching allocator of the CPU.
//
// Blocks of up to 32 KiB are cut from slabs. Every size class has its own slabs and lock, so threads contend only when
// they use the same size at the same time. A free block stores the link to the next one in its first bytes. Larger
// blocks and slabs are runs of pages. Sizes share memory through the page pool, to which a slab returns when all its
// blocks are free.
#include "tandem/tensor/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "src/tensor/page_pool.h"
#include "src/tensor/size_class.h"
#include "src/tensor/system_memory.h"
#include "tandem/base/check.h"

namespace tandem::cpu {
namespace {

// If two large blocks are 2^28 bytes apart, or a power-of-two multiple of that, loops over both are 2 to 3 times slower
// on some processors. A large block therefore starts some pages after the start of its run, which is a multiple of 64
// KiB. The number of pages is the block's colour. The number of colours is odd, so that runs at such distances get
// different colours.
constexpr size_t kColours = 15;
constexpr size_t kRunGrain = size_t{64} << 10;
constexpr size_t kSlabBytes = size_t{64} << 10;
constexpr size_t kMinBlocksPerSlab = 4;
// Under AddressSanitizer a block is followed by inaccessible bytes.
constexpr size_t kRedZone = kPoisoning ? 64 : 0;

struct alignas(128) Bin {  // two cache lines: adjacent lines are prefetched in pairs
  std::mutex mutex;
  PageRun* slabs = nullptr;  // slabs with free blocks
  int64_t allocations = 0;
};

struct Allocator {
  Bin bins[kNumSizeClasses];
  PagePool pool;
  std::atomic<int64_t> allocated{0}, max_allocated{0}, page_allocations{0};
  std::atomic<int64_t> peak{0};  // like max_allocated, but never reset
};

Allocator& instance();

/// A child of fork() has only the calling thread: a lock held by another thread would stay locked for ever.
void lock_all() {
  for (Bin& bin : instance().bins) bin.mutex.lock();
  instance().pool.mutex().lock();
}
void unlock_all() {
  instance().pool.mutex().unlock();
  for (Bin& bin : instance().bins) bin.mutex.unlock();
}

Allocator& instance() {
  // Never destroyed: static tensors are freed after main.
  static Allocator& allocator = *[] {
    auto* a = new Allocator;
    pthread_atfork([] { lock_all(); }, [] { unlock_all(); }, [] { unlock_all(); });
    return a;
  }();
  return allocator;
}

void raise_to(std::atomic<int64_t>& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (value > seen && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// The bytes that the pool may hold when `more` bytes are added to the live blocks: a quarter above the peak of live
/// bytes, which is enough for most mixtures of sizes. A repetitive program that needs more space between its blocks
/// must not return memory and take it again at every step, so the limit rises each time memory was returned, up to 7/16
/// above the peak. The extra 4 MiB are for the slabs of all size classes.
size_t limit_with(const Allocator& a, size_t more) {
  const size_t live = static_cast<size_t>(a.allocated.load(std::memory_order_relaxed)) + more;
  const size_t peak = std::max(live, static_cast<size_t>(a.peak.load(std::memory_order_relaxed)));
  const size_t parts = std::min<size_t>(16 + a.pool.shrinks(), 28);  // of 64
  return peak + peak / 64 * parts + (size_t{4} << 20);
}

size_t blocks_per_slab(size_t bytes) { return std::max(kSlabBytes / bytes, kMinBlocksPerSlab); }
size_t slab_bytes(size_t bytes) { return (blocks_per_slab(bytes) * bytes + kPage - 1) / kPage * kPage; }

bool has_free_block(const PageRun* slab, size_t bytes) { return slab->live_blocks < blocks_per_slab(bytes); }

void link(Bin& bin, PageRun* slab) noexcept {
  slab->previous_slab = nullptr;
  slab->next_slab = bin.slabs;
  if (bin.slabs) bin.slabs->previous_slab = slab;
  bin.slabs = slab;
}

void unlink(Bin& bin, PageRun* slab) noexcept {
  (slab->previous_slab ? slab->previous_slab->next_slab : bin.slabs) = slab->next_slab;
  if (slab->next_slab) slab->next_slab->previous_slab = slab->previous_slab;
}

void* take_small(Allocator& a, SizeClass c) noexcept {
  Bin& bin = a.bins[c.index];
  const std::lock_guard lock(bin.mutex);
  if (!bin.slabs) {
    PageRun* slab = a.pool.take_slab(slab_bytes(c.bytes), limit_with(a, c.bytes));
    if (!slab) return nullptr;
    slab->fresh = slab->base;
    slab->live_blocks = 0;
    link(bin, slab);
  }
  PageRun* slab = bin.slabs;
  void* block = slab->free_blocks;
  if (block) {
    unpoison(block, sizeof(FreeBlock));
    slab->free_blocks = slab->free_blocks->next;
  } else {
    block = std::exchange(slab->fresh, slab->fresh + c.bytes);
  }
  ++slab->live_blocks;
  if (!has_free_block(slab, c.bytes)) unlink(bin, slab);
  ++bin.allocations;
  return block;
}

void give_small(Allocator& a, void* block, SizeClass c) noexcept {
  Bin& bin = a.bins[c.index];
  PageRun* slab = PagePool::run_of(block);
  const std::lock_guard lock(bin.mutex);
  unpoison(block, sizeof(FreeBlock));
  const bool was_full = !has_free_block(slab, c.bytes);
  slab->free_blocks = new (block) FreeBlock{slab->free_blocks};
  poison(block, c.bytes);
  if (was_full) link(bin, slab);
  // The last slab is kept, so that allocating and freeing one block does not allocate and free a slab.
  if (--slab->live_blocks == 0 && (slab->previous_slab || slab->next_slab)) {
    unlink(bin, slab);
    a.pool.give_slab(slab);
  }
}

char* first_colour(void* block) { return static_cast<char*>(block) - reinterpret_cast<uintptr_t>(block) % kRunGrain; }

void* take_pages(Allocator& a, size_t bytes) noexcept {
  const bool large = bytes >= kLargeBytes;
  const size_t more = large ? (kColours - 1) * kPage : 0;
  PageRun* run = a.pool.take(bytes + more, large, limit_with(a, bytes));
  if (!run) return nullptr;
  a.page_allocations.fetch_add(1, std::memory_order_relaxed);
  const size_t colour = large ? (reinterpret_cast<uintptr_t>(run->base) >> 28) % kColours : 0;
  return run->base + colour * kPage;
}

void give_pages(Allocator& a, void* block, size_t bytes) noexcept {
  poison(block, bytes);
  a.pool.give(PagePool::run_of(bytes >= kLargeBytes ? first_colour(block) : block));
}

/// A block of at least block_bytes(bytes) bytes, or null.
void* take(Allocator& a, size_t bytes) noexcept {
  return bytes <= kSmallBytes ? take_small(a, size_class(bytes)) : take_pages(a, block_bytes(bytes));
}

}  // namespace

void* allocate(size_t bytes) {
  Allocator& a = instance();
  if (bytes <= kMaxBlockBytes - kRedZone) {
    const size_t wanted = bytes + kRedZone;
    void* block = take(a, wanted);
    if (!block) {
      empty_cache();
      block = take(a, wanted);
    }
    if (block) {
      unpoison(block, bytes);
      const auto add = static_cast<int64_t>(block_bytes(wanted));
      const int64_t now = a.allocated.fetch_add(add, std::memory_order_relaxed) + add;
      raise_to(a.max_allocated, now);
      raise_to(a.peak, now);
      return block;
    }
  }
  const OpScope op("allocate");
  TANDEM_THROW(OutOfMemoryError,
               "out of memory: {} bytes requested, {} bytes allocated, {} bytes reserved on the CPU; free tensors or "
               "use smaller batches",
               bytes, a.allocated.load(), a.pool.reserved());
}

void deallocate(void* block, size_t bytes) noexcept {
  Allocator& a = instance();
  const size_t size = block_bytes(bytes + kRedZone);
  a.allocated.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  if (size <= kSmallBytes) {
    give_small(a, block, size_class(size));
  } else {
    give_pages(a, block, size);
  }
}

AllocatorStats memory_stats() {
  Allocator& a = instance();
  AllocatorStats stats;
  stats.allocated_bytes = a.allocated;
  stats.max_allocated_bytes = a.max_allocated;
  stats.reserved_bytes = a.pool.reserved();
  stats.max_reserved_bytes = a.pool.max_reserved();
  stats.system_allocations = a.pool.system_allocations();
  stats.allocations = a.page_allocations;
  for (Bin& bin : a.bins) {
    const std::lock_guard lock(bin.mutex);
    stats.allocations += bin.allocations;
  }
  return stats;
}

int64_t max_memory_allocated() { return instance().max_allocated; }
int64_t memory_allocated() { return instance().allocated; }
int64_t memory_reserved() { return instance().pool.reserved(); }

void reset_peak_memory_stats() {
  Allocator& a = instance();
  a.max_allocated = a.allocated.load();
  a.pool.reset_peak();
}

void empty_cache() {
  Allocator& a = instance();
  for (Bin& bin : a.bins) {
    const std::lock_guard lock(bin.mutex);
    for (PageRun* slab = bin.slabs; slab;) {
      PageRun* next = slab->next_slab;
      if (slab->live_blocks == 0) {
        unlink(bin, slab);
        a.pool.give_slab(slab);
      }
      slab = next;
    }
  }
  a.pool.release_all();
}

}  // namespace tandem::cpu
