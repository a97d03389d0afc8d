#pragma once
// The lower layer of the CPU allocator: splits and joins runs of pages.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "src/tensor/size_class.h"

namespace tandem::cpu {

struct FreeBlock {
  FreeBlock* next;
};

/// A run of pages: free, a single block, or a slab of small blocks.
struct PageRun {
  char* base = nullptr;
  size_t bytes = 0;
  PageRun *before = nullptr, *after = nullptr;  ///< the adjacent runs
  PageRun *left = nullptr, *right = nullptr;    ///< in the tree of free runs
  bool free = false, large = false;

  // Fields of a slab, guarded by the lock of its size class:
  FreeBlock* free_blocks = nullptr;
  char* fresh = nullptr;  ///< blocks from here to the end were never allocated
  uint32_t live_blocks = 0;
  PageRun *previous_slab = nullptr, *next_slab = nullptr;  ///< in the class's list of slabs with free blocks
};

/// Takes memory from the system in multiples of 2 MiB, adjacent to earlier memory if possible, and hands out the
/// smallest free run that fits; the rest of that run stays free. A returned run is joined with its free neighbours.
/// Runs for large blocks are kept in a separate zone, so that other runs do not fragment it, and start at multiples of
/// 64 KiB. Thread-safe.
class PagePool {
 public:
  /// A run of at least `bytes`; null if the system refuses. If new memory would raise the pool above `limit` bytes, the
  /// excess is first returned to the system from the pool's free memory.
  PageRun* take(size_t bytes, bool large, size_t limit) noexcept;
  void give(PageRun* run) noexcept;
  /// Like take(), but run_of() finds the run from any address in it.
  PageRun* take_slab(size_t bytes, size_t limit) noexcept;
  void give_slab(PageRun* run) noexcept;

  /// The used run that begins at `address`, or the slab that contains it.
  static PageRun* run_of(const void* address) noexcept;

  /// Returns all free memory to the system.
  void release_all() noexcept;

  int64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  int64_t max_reserved() const { return max_reserved_.load(std::memory_order_relaxed); }
  void reset_peak() { max_reserved_ = reserved_.load(); }
  int64_t system_allocations() const { return system_allocations_.load(std::memory_order_relaxed); }

  /// How many times a limit made the pool return memory.
  size_t shrinks() const { return shrinks_.load(std::memory_order_relaxed); }

  /// Held across fork().
  std::mutex& mutex() { return mutex_; }

 private:
  struct Zone {
    PageRun* free = nullptr;  ///< tree by size, then address
    char* end = nullptr;      ///< end of the latest mapping, where the next should begin
  };

  Zone& zone(bool large) { return zones_[large ? 1 : 0]; }
  PageRun* map(size_t bytes, bool large, size_t limit) noexcept;
  PageRun* add_mapping(char* base, size_t bytes, bool large) noexcept;
  void choose_addresses() noexcept;
  /// Cuts `run` to `bytes`. Returns the rest, or null if there is no memory for its descriptor.
  PageRun* split(PageRun* run, size_t bytes) noexcept;
  PageRun* join(PageRun* run) noexcept;
  void shrink_to(size_t limit) noexcept;
  /// Returns pages [begin, end) of a free run, which must not be in a tree, to the system. The rest of the run becomes
  /// free.
  bool unmap(PageRun* run, char* begin, char* end) noexcept;
  void make_free(PageRun* run) noexcept;
  PageRun* new_run(char* base, size_t bytes, bool large) noexcept;
  void delete_run(PageRun* run) noexcept;

  std::mutex mutex_;
  Zone zones_[2];
  PageRun* spare_ = nullptr;  ///< unused descriptors, linked by `left`
  std::atomic<int64_t> reserved_{0}, max_reserved_{0}, system_allocations_{0};
  std::atomic<size_t> shrinks_{0};
};

}  // namespace tandem::cpu
