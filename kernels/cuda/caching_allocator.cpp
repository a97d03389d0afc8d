#include "kernels/cuda/caching_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tandem/base/check.h"

namespace tandem::cuda {
namespace {

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB;
constexpr size_t kGrain = 512;   // block sizes are multiples of this
constexpr size_t kSmall = kMiB;  // the largest block of a small segment
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kMedium = 10 * kMiB;  // the largest block of a shared large segment
constexpr size_t kMediumSegment = 20 * kMiB;
constexpr size_t kLargeGrain = 2 * kMiB;

size_t round_up(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }

size_t segment_size(size_t bytes) {
  if (bytes <= kSmall) return kSmallSegment;
  return bytes <= kMedium ? kMediumSegment : round_up(bytes, kLargeGrain);
}

/// Whether a remainder becomes a block of its own. A large block keeps up to 1 MiB: small requests have their own
/// segments.
bool is_worth_splitting(size_t rest, bool small) { return small ? rest >= kGrain : rest > kSmall; }

}  // namespace

CachingAllocator::~CachingAllocator() {
  process_pending(true);
  kept_.clear();
  release_cached();
}

void CachingAllocator::add(int64_t& value, int64_t& peak, size_t bytes) {
  value += static_cast<int64_t>(bytes);
  peak = std::max(peak, value);
}

void* CachingAllocator::allocate(size_t requested, Stream stream) {
  const OpScope op("allocate");
  const std::lock_guard lock(mutex_);
  // Prevents overflow in the rounding: such a request cannot be served anyway.
  const bool possible = requested <= std::numeric_limits<size_t>::max() / 2;
  const size_t at_least = std::max<size_t>(requested, 1);
  const size_t bytes = !possible ? 0 : caches_ ? round_up(at_least, kGrain) : at_least;
  const bool small = bytes <= kSmall;
  Block* block = nullptr;
  if (possible) {
    if (captures_ == 0) process_pending(false);
    block = take_cached(bytes, stream, small);
    if (!block) block = take_segment(bytes, stream, small);
    if (!block && captures_ == 0) {
      process_pending(true);
      release_cached();
      block = take_segment(bytes, stream, small);
    }
  }
  TANDEM_CHECK(block, OutOfMemoryError,
               "out of memory on the CUDA device: {} bytes requested, {} bytes free, {} bytes reserved, {} bytes "
               "allocated; free tensors or use smaller batches{}",
               requested, source_->available(), stats_.reserved_bytes, stats_.allocated_bytes,
               captures_ > 0 ? ", or call empty_cache() before the capture" : "");
  if (is_worth_splitting(block->bytes - bytes, small)) split(block, bytes);
  block->state = State::live;
  ++stats_.allocations;
  add(stats_.allocated_bytes, stats_.max_allocated_bytes, block->bytes);
  return block->data;
}

CachingAllocator::Block* CachingAllocator::take_cached(size_t bytes, Stream stream, bool small) {
  Pool& pool = pools_[{stream, small}];
  Block wanted(nullptr, bytes, stream, small);
  const auto best = pool.lower_bound(&wanted);
  if (best == pool.end()) return nullptr;
  Block* block = *best;
  pool.erase(best);
  return block;
}

CachingAllocator::Block* CachingAllocator::take_segment(size_t bytes, Stream stream, bool small) {
  const size_t size = caches_ ? segment_size(bytes) : bytes;
  auto* data = static_cast<char*>(source_->allocate(size));
  if (!data) return nullptr;
  ++stats_.system_allocations;
  add(stats_.reserved_bytes, stats_.max_reserved_bytes, size);
  auto block = std::make_unique<Block>(data, size, stream, small);
  return (blocks_[data] = std::move(block)).get();
}

void CachingAllocator::split(Block* block, size_t bytes) {
  auto rest = std::make_unique<Block>(block->data + bytes, block->bytes - bytes, block->stream, block->small);
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest.get();
  block->after = rest.get();
  block->bytes = bytes;
  pool_of(*rest).insert(rest.get());
  void* address = rest->data;
  blocks_[address] = std::move(rest);
}

bool CachingAllocator::deallocate(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end() || found->second->state != State::live) return false;
  Block* block = found->second.get();
  block->state = State::draining;
  stats_.allocated_bytes -= static_cast<int64_t>(block->bytes);
  if (captures_ > 0 && !block->users.empty()) {
    put_off_.push_back(block);
  } else {
    drain(block);
  }
  return true;
}

void CachingAllocator::drain(Block* block) {
  for (const auto& [device, stream] : block->users) {
    pending_.push_back({source_->record(stream, device), block});
    ++block->pending_events;
  }
  block->users.clear();
  if (block->pending_events == 0) make_free(block);
}

void CachingAllocator::make_free(Block* block) {
  block->state = State::free;
  block = join(block, block->before);
  block = join(block, block->after);
  Pool& pool = pool_of(*block);
  pool.insert(block);
  if (!caches_ && captures_ == 0 && !kept_.contains(block->stream)) release_free(pool);
}

CachingAllocator::Block* CachingAllocator::join(Block* block, Block* neighbour) {
  if (!neighbour || neighbour->state != State::free) return block;
  pool_of(*neighbour).erase(neighbour);
  Block *first = block, *second = neighbour;
  if (second == first->before) std::swap(first, second);
  first->bytes += second->bytes;
  first->after = second->after;
  if (first->after) first->after->before = first;
  blocks_.erase(second->data);
  return first;
}

bool CachingAllocator::record_stream(void* data, Stream stream, int device) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end() || found->second->state != State::live) return false;
  if (device >= 0 || found->second->stream != stream) found->second->users.insert({device, stream});
  return true;
}

void CachingAllocator::process_pending(bool wait) {
  std::erase_if(pending_, [&](const Pending& p) {
    if (wait) {
      source_->wait(p.event);
    } else if (!source_->done(p.event)) {
      return false;
    }
    source_->destroy(p.event);
    if (--p.block->pending_events == 0) make_free(p.block);
    return true;
  });
}

void CachingAllocator::release_cached() {
  for (auto& [key, pool] : pools_) {
    if (!kept_.contains(key.first)) release_free(pool);
  }
}

void CachingAllocator::release_free(Pool& pool) {
  std::erase_if(pool, [&](Block* block) {
    if (block->before || block->after) return false;
    source_->free(block->data);
    stats_.reserved_bytes -= static_cast<int64_t>(block->bytes);
    blocks_.erase(block->data);
    return true;
  });
}

void CachingAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  if (captures_ > 0) return;
  process_pending(false);
  release_cached();
}

void CachingAllocator::keep(Stream pool) {
  const std::lock_guard lock(mutex_);
  ++kept_[pool];
}

void CachingAllocator::release(Stream pool) {
  const std::lock_guard lock(mutex_);
  if (--kept_[pool] > 0) return;
  kept_.erase(pool);
  if (captures_ > 0) return;  // the next empty_cache() frees it
  for (const bool small : {false, true}) {
    const auto found = pools_.find({pool, small});
    if (found == pools_.end()) continue;
    release_free(found->second);
    if (found->second.empty()) pools_.erase(found);
  }
}

CachingAllocator::Stream CachingAllocator::stream_of(void* data) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  return found != blocks_.end() && found->second->state == State::live ? found->second->stream : nullptr;
}

void CachingAllocator::begin_capture() {
  const std::lock_guard lock(mutex_);
  ++captures_;
}

void CachingAllocator::end_capture() {
  const std::lock_guard lock(mutex_);
  if (--captures_ > 0) return;
  for (Block* block : std::exchange(put_off_, {})) drain(block);
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak_stats() {
  const std::lock_guard lock(mutex_);
  stats_.max_allocated_bytes = stats_.allocated_bytes;
  stats_.max_reserved_bytes = stats_.reserved_bytes;
}

}  // namespace tandem::cuda
