#pragma once
// The bookkeeping of device memory, without a call to the driver: which blocks are in use, which are free for which
// stream, and how segments from the driver are split and joined. Memory itself comes from a MemorySource, which a test
// replaces.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "tandem/tensor/allocator.h"

namespace tandem::cuda {

/// Where segments come from, and when streams are done with a block.
class MemorySource {
 public:
  using Stream = const void*;
  using Event = void*;
  virtual ~MemorySource() = default;
  /// A segment; null when there is no memory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* segment) = 0;
  /// Bytes that the driver could still give.
  virtual size_t available() = 0;
  /// An event behind the work that the stream has been given so far; null when that has been waited for instead.
  virtual Event record(Stream stream) = 0;
  virtual bool done(Event event) = 0;
  virtual void wait(Event event) = 0;
  virtual void destroy(Event event) = 0;
};

/// A caching allocator of one device. Blocks are multiples of 512 bytes and belong to the stream that they were
/// allocated for: freed, they are handed out again at once on that stream, whose order makes that safe, and never on
/// another. Up to 1 MiB they are cut from segments of 2 MiB, up to 10 MiB from segments of 20 MiB; larger ones have a
/// segment of their own, rounded up to 2 MiB. Source of the sizes: PyTorch's CUDACachingAllocator. Safe on all threads.
///
/// A private pool, for a CUDA graph, is a stream that nobody else has: blocks are allocated for it, and its segments
/// stay as long as it is kept. While a capture is underway no event may be asked for, and nothing is given back.
class CachingAllocator {
 public:
  using Stream = MemorySource::Stream;

  explicit CachingAllocator(std::unique_ptr<MemorySource> source) : source_(std::move(source)) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Throws OutOfMemoryError after every cached block has been given back and the source still has no memory.
  void* allocate(size_t bytes, Stream stream);
  /// False for a pointer that is no block of this allocator.
  bool deallocate(void* block) noexcept;
  /// `stream` uses the block as well: it becomes free only when the work that `stream` has when it is freed is done.
  bool record_stream(void* block, Stream stream);
  /// Gives segments without a live block back to the source.
  void empty_cache();
  /// Keeps the segments of a private pool, until release() has been called as often.
  void keep(Stream pool);
  /// Gives free segments back; those of live blocks belong to the cache from now on.
  void release(Stream pool);
  /// What a live block was allocated for; null for other addresses, as for the default stream.
  Stream stream_of(void* block) const;
  /// A capture begins or ends. What another stream used is then looked at when all have ended.
  void begin_capture();
  void end_capture();
  AllocatorStats stats() const;
  void reset_peak_stats();

 private:
  /// draining: freed, but another stream still works on it.
  enum class State : uint8_t { free, live, draining };
  struct Block {
    Block(char* data, size_t bytes, Stream stream, bool small)
        : data(data), bytes(bytes), stream(stream), small(small) {}
    char* data;
    size_t bytes;
    Stream stream;
    bool small;
    State state = State::free;
    Block *before = nullptr, *after = nullptr;  ///< neighbours in the segment
    std::set<Stream> users;                     ///< other streams that use it
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
  /// Frees blocks whose other streams are done; waits for them all when `wait`.
  void process_pending(bool wait);
  void release_cached();
  void release_free(Pool& pool);
  /// Puts events behind the work of the other streams that used the block.
  void drain(Block* block);
  void add(int64_t& value, int64_t& peak, size_t bytes);

  mutable std::mutex mutex_;
  std::unique_ptr<MemorySource> source_;
  std::map<std::pair<Stream, bool>, Pool> pools_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;  ///< all, by address
  std::vector<Pending> pending_;
  std::map<Stream, int> kept_;   ///< private pools, and by how many
  int captures_ = 0;             ///< underway
  std::vector<Block*> put_off_;  ///< freed during a capture, with other streams to wait for
  AllocatorStats stats_;
};

}  // namespace tandem::cuda
