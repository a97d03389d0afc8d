#pragma once
// The bookkeeping of device memory, without driver calls: tracks which blocks are in use or free for which stream, and
// splits and joins segments. Memory itself comes from a MemorySource, which tests replace.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/tensor/allocator.h"

namespace tandem::cuda {

/// The source of segments and of events that tell when streams have finished with a block.
class MemorySource {
 public:
  using Stream = const void*;
  using Event = void*;
  virtual ~MemorySource() = default;
  /// Returns a segment, or null if there is no memory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* segment) = 0;
  /// Bytes that the driver can still provide.
  virtual size_t available() = 0;
  /// Records an event after the work so far of a stream of `device`; -1 means the source's own device. Returns null if
  /// it waited for that work instead.
  virtual Event record(Stream stream, int device) = 0;
  virtual bool done(Event event) = 0;
  virtual void wait(Event event) = 0;
  virtual void destroy(Event event) = 0;
};

/// A caching allocator for one device. Block sizes are multiples of 512 bytes. A block belongs to the stream for which
/// it was allocated: a freed block can be reused immediately on that stream, whose order makes this safe, but never on
/// another. Blocks up to 1 MiB are cut from 2 MiB segments, blocks up to 10 MiB from 20 MiB segments; larger blocks
/// have their own segments, rounded up to 2 MiB. Source of the sizes: PyTorch's CUDACachingAllocator. Thread-safe.
///
/// Without caching, each block is a segment of exactly the requested size, and goes back to the source when it is
/// freed, so that tools see accesses beyond it and after it.
///
/// A private pool, for a CUDA graph, is a stream that nothing else uses: blocks are allocated for it, and its segments
/// stay while it is kept. During a capture, events are not queried and segments are not returned.
class CachingAllocator {
 public:
  using Stream = MemorySource::Stream;

  explicit CachingAllocator(std::unique_ptr<MemorySource> source, bool caches = true)
      : source_(std::move(source)), caches_(caches) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Throws OutOfMemoryError if the source has no memory even after all cached blocks were returned.
  void* allocate(size_t bytes, Stream stream);
  /// Returns false if the pointer is not a block of this allocator.
  bool deallocate(void* block) noexcept;
  /// Notes that `stream` uses the block too. After the block is freed, it becomes available only when the work that
  /// `stream` had at that time is done. `device` is the stream's, or -1 for the allocator's. Returns false if the
  /// pointer is not a block of this allocator.
  bool record_stream(void* block, Stream stream, int device = -1);
  /// Returns segments without live blocks to the source.
  void empty_cache();
  /// Keeps the segments of a private pool until release() has been called as many times as keep().
  void keep(Stream pool);
  /// Returns free segments; segments with live blocks become part of the cache.
  void release(Stream pool);
  /// The stream for which a live block was allocated; null for other addresses and for the default stream.
  Stream stream_of(void* block) const;
  /// Marks the beginning or end of a capture. Blocks used by other streams are processed after all captures have ended.
  void begin_capture();
  void end_capture();
  AllocatorStats stats() const;
  void reset_peak_stats();

 private:
  /// draining: freed, but still in use by another stream.
  enum class State : uint8_t { free, live, draining };
  using User = std::pair<int, Stream>;  ///< a device, or -1, and its stream
  struct Block {
    Block(char* data, size_t bytes, Stream stream, bool small)
        : data(data), bytes(bytes), stream(stream), small(small) {}
    char* data;
    size_t bytes;
    Stream stream;
    bool small;
    State state = State::free;
    Block *before = nullptr, *after = nullptr;  ///< neighbours in the segment
    std::set<User> users;                       ///< other streams that use the block
    size_t pending_events = 0;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
    }
  };
  using Pool = std::set<Block*, BySize>;
  struct Pending {
    MemorySource::Event event;
    Block* block;
  };

  Pool& pool_of(const Block& block) { return pools_[{block.stream, block.small}]; }
  Block* take_cached(size_t bytes, Stream stream, bool small);
  Block* take_segment(size_t bytes, Stream stream, bool small);
  void split(Block* block, size_t bytes);
  void make_free(Block* block);
  Block* join(Block* block, Block* neighbour);
  /// Frees blocks whose other streams are done; with `wait`, waits for all of them.
  void process_pending(bool wait);
  void release_cached();
  void release_free(Pool& pool);
  /// Records events after the work of the other streams that used the block.
  void drain(Block* block);
  void add(int64_t& value, int64_t& peak, size_t bytes);

  mutable std::mutex mutex_;
  std::unique_ptr<MemorySource> source_;
  bool caches_;
  std::map<std::pair<Stream, bool>, Pool> pools_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;  ///< all blocks, by address
  std::vector<Pending> pending_;
  std::map<Stream, int> kept_;   ///< private pools and their keep counts
  int captures_ = 0;             ///< number of captures in progress
  std::vector<Block*> put_off_;  ///< blocks freed during a capture that other streams used
  AllocatorStats stats_;
};

}  // namespace tandem::cuda
