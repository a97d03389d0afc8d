#pragma once
// The lower layer of the CPU allocator: runs of pages, split and joined.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "src/tensor/size_class.h"

namespace tandem::cpu {

struct FreeBlock {
  FreeBlock* next;
};

/// A run of pages: free, one block, or a slab of small blocks.
struct PageRun {
  char* base = nullptr;
  size_t bytes = 0;
  PageRun *before = nullptr, *after = nullptr;  ///< the runs that begin or end where this one ends or begins
  PageRun *left = nullptr, *right = nullptr;    ///< in the tree of free runs
  bool free = false, large = false;

  // Of a slab, under the lock of its size class:
  FreeBlock* free_blocks = nullptr;
  char* fresh = nullptr;  ///< blocks from here to the end were never handed out
  uint32_t live_blocks = 0;
  PageRun *previous_slab = nullptr, *next_slab = nullptr;  ///< in the class's list of slabs with free blocks
};

/// Takes memory from the system in multiples of 2 MiB, each next to the last where the system permits, and hands out
/// the smallest free run that fits, the rest of which stays free. A run that comes back is joined with its free
/// neighbours. Runs for large blocks lie apart from others, which would break up the space between them; they begin at
/// multiples of 64 KiB. Safe on all threads.
class PagePool {
 public:
  /// A run of at least `bytes`; null when the system refuses. When it takes memory from the system and the pool would
  /// hold more than `limit` bytes, as much of its free memory as that is goes back to the system first.
  PageRun* take(size_t bytes, bool large, size_t limit) noexcept;
  void give(PageRun* run) noexcept;
  /// As take(), and run_of() finds the run from any address in it.
  PageRun* take_slab(size_t bytes, size_t limit) noexcept;
  void give_slab(PageRun* run) noexcept;

  /// The run in use that begins at `address`, or the slab that contains it.
  static PageRun* run_of(const void* address) noexcept;

  /// Gives all free memory back to the system.
  void release_all() noexcept;

  int64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  int64_t max_reserved() const { return max_reserved_.load(std::memory_order_relaxed); }
  void reset_peak() { max_reserved_ = reserved_.load(); }
  int64_t system_allocations() const { return system_allocations_.load(std::memory_order_relaxed); }

  /// How many times a limit made the pool give memory back.
  size_t shrinks() const { return shrinks_.load(std::memory_order_relaxed); }

  /// Held across fork().
  std::mutex& mutex() { return mutex_; }

 private:
  struct Zone {
    PageRun* free = nullptr;  ///< tree by size, then address
    char* end = nullptr;      ///< of the memory that was mapped last: where the next should begin
  };

  Zone& zone(bool large) { return zones_[large ? 1 : 0]; }
  PageRun* map(size_t bytes, bool large, size_t limit) noexcept;
  PageRun* add_mapping(char* base, size_t bytes, bool large) noexcept;
  void choose_addresses() noexcept;
  /// Cuts `run` so that it has `bytes`; returns the rest, or null without memory for its description.
  PageRun* split(PageRun* run, size_t bytes) noexcept;
  PageRun* join(PageRun* run) noexcept;
  void shrink_to(size_t limit) noexcept;
  /// Gives pages [begin, end) of a free run outside its tree back to the system; what is left of it becomes free.
  bool unmap(PageRun* run, char* begin, char* end) noexcept;
  void make_free(PageRun* run) noexcept;
  PageRun* new_run(char* base, size_t bytes, bool large) noexcept;
  void delete_run(PageRun* run) noexcept;

  std::mutex mutex_;
  Zone zones_[2];
  PageRun* spare_ = nullptr;  ///< descriptions without pages, linked by `left`
  std::atomic<int64_t> reserved_{0}, max_reserved_{0}, system_allocations_{0};
  std::atomic<size_t> shrinks_{0};
};

}  // namespace tandem::cpu
