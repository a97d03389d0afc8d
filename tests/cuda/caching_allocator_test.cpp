// The bookkeeping of device memory, with a counting memory source: sizes, splitting and joining, streams, exhaustion.
#include "kernels/cuda/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/throws.h"
#include "tandem/base/error.h"

namespace tandem::cuda {
namespace {

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB;

/// Hands out addresses that must not be accessed, from a device of `capacity` bytes; the test says when events are
/// done.
class FakeMemory final : public MemorySource {
 public:
  struct State {
    size_t capacity = 1024 * kMiB, in_use = 0;
    int mallocs = 0, frees = 0, waits = 0;
    bool events_done = false;
    int live_events = 0;
    std::map<void*, size_t> segments;
  };
  explicit FakeMemory(State& state) : state_(state) {}
  void* allocate(size_t bytes) override {
    if (state_.in_use + bytes > state_.capacity) return nullptr;
    ++state_.mallocs;
    state_.in_use += bytes;
    next_ += 64 * kMiB;
    void* segment = reinterpret_cast<void*>(next_);
    next_ += bytes;
    state_.segments[segment] = bytes;
    return segment;
  }
  void free(void* segment) override {
    ++state_.frees;
    ASSERT_EQ(state_.segments.count(segment), 1U);
    state_.in_use -= state_.segments[segment];
    state_.segments.erase(segment);
  }
  size_t available() override { return state_.capacity - state_.in_use; }
  Event record(Stream, int) override {
    ++state_.live_events;
    return &state_;
  }
  bool done(Event) override { return state_.events_done; }
  void wait(Event) override { ++state_.waits; }
  void destroy(Event) override { --state_.live_events; }

 private:
  State& state_;
  uintptr_t next_ = uintptr_t{1} << 40;
};

class CachingAllocatorTest : public ::testing::Test {
 protected:
  FakeMemory::State memory;
  CachingAllocator allocator{std::make_unique<FakeMemory>(memory)};
  const void* const main = nullptr;
  const int other_queue = 0;
  const void* const other = &other_queue;
};

TEST_F(CachingAllocatorTest, SmallBlocksShareASegment) {
  void* a = allocator.allocate(1, main);
  void* b = allocator.allocate(513, main);
  EXPECT_EQ(memory.mallocs, 1);
  EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 512);
  EXPECT_EQ(allocator.stats().allocated_bytes, 512 + 1024);
  EXPECT_EQ(allocator.stats().reserved_bytes, static_cast<int64_t>(2 * kMiB));
  EXPECT_TRUE(allocator.deallocate(a));
  EXPECT_TRUE(allocator.deallocate(b));
  EXPECT_EQ(allocator.allocate(2 * kMiB - 512, main) != a, true) << "large requests have separate segments";
  EXPECT_EQ(allocator.allocate(1, main), a) << "the parts were joined again";
}

TEST_F(CachingAllocatorTest, WithoutCachingEachBlockIsASegmentOfItsSize) {
  CachingAllocator plain(std::make_unique<FakeMemory>(memory), /*caches=*/false);
  void* a = plain.allocate(3, main);
  void* b = plain.allocate(3 * kMiB + 1, main);
  EXPECT_EQ(memory.in_use, 3 * kMiB + 4);
  EXPECT_TRUE(plain.deallocate(a));
  EXPECT_EQ(memory.in_use, 3 * kMiB + 1) << "returned at once";
  EXPECT_TRUE(plain.record_stream(b, other));
  EXPECT_TRUE(plain.deallocate(b));
  EXPECT_EQ(memory.in_use, 3 * kMiB + 1) << "another stream still uses it";
  memory.events_done = true;
  void* c = plain.allocate(0, main);
  EXPECT_EQ(memory.in_use, 1U);
  EXPECT_TRUE(plain.deallocate(c));
  EXPECT_EQ(plain.stats().allocated_bytes, 0);
  EXPECT_EQ(plain.stats().reserved_bytes, 0);

  plain.keep(other);  // the memory of a graph
  void* d = plain.allocate(5, other);
  EXPECT_TRUE(plain.deallocate(d));
  EXPECT_EQ(memory.in_use, 5U);
  EXPECT_EQ(plain.allocate(5, other), d);
  EXPECT_TRUE(plain.deallocate(d));
  plain.release(other);
  EXPECT_EQ(memory.in_use, 0U);
}

TEST_F(CachingAllocatorTest, SegmentsBySize) {
  allocator.allocate(kMiB, main);
  EXPECT_EQ(memory.in_use, 2 * kMiB);
  allocator.allocate(kMiB + 1, main);
  EXPECT_EQ(memory.in_use, 22 * kMiB);
  allocator.allocate(10 * kMiB, main);
  EXPECT_EQ(memory.in_use, 22 * kMiB) << "the rest of the shared segment";
  allocator.allocate(10 * kMiB + 1, main);
  EXPECT_EQ(memory.in_use, 34 * kMiB) << "a separate segment, rounded up to 2 MiB";
}

TEST_F(CachingAllocatorTest, MakesNoDriverCallsAfterWarmUp) {
  for (int step = 0; step < 3; ++step) {
    std::vector<void*> blocks;
    for (size_t bytes : {4 * kKiB, 3 * kMiB, 100 * kMiB, size_t{0}, 700 * kKiB}) {
      blocks.push_back(allocator.allocate(bytes, main));
    }
    for (void* block : blocks) allocator.deallocate(block);
    if (step == 0) memory.mallocs = 0;
  }
  EXPECT_EQ(memory.mallocs, 0);
  EXPECT_EQ(allocator.stats().allocated_bytes, 0);
  EXPECT_EQ(allocator.stats().allocations, 15);
}

TEST_F(CachingAllocatorTest, BlocksAreReusedOnTheirStream) {
  void* a = allocator.allocate(kKiB, main);
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(kKiB, other), a) << "main may still use it";
  EXPECT_EQ(allocator.allocate(kKiB, main), a);
}

TEST_F(CachingAllocatorTest, WorkOnAnotherStreamDelaysReuse) {
  void* a = allocator.allocate(100 * kMiB, main);
  EXPECT_TRUE(allocator.record_stream(a, other));
  EXPECT_TRUE(allocator.record_stream(a, main)) << "its own stream needs no event";
  allocator.deallocate(a);
  EXPECT_EQ(memory.live_events, 1);
  EXPECT_EQ(allocator.stats().allocated_bytes, 0);
  EXPECT_FALSE(allocator.deallocate(a)) << "freed already";
  void* b = allocator.allocate(100 * kMiB, main);
  EXPECT_NE(a, b);
  memory.events_done = true;
  EXPECT_EQ(allocator.allocate(100 * kMiB, main), a);
  EXPECT_EQ(memory.live_events, 0);
  EXPECT_EQ(memory.waits, 0) << "the host never waits while there is memory";
}

TEST_F(CachingAllocatorTest, ExhaustionFreesTheCacheAndRetries) {
  memory.capacity = 100 * kMiB;
  void* a = allocator.allocate(60 * kMiB, main);
  void* small = allocator.allocate(1, main);
  allocator.record_stream(a, other);
  allocator.deallocate(a);
  void* b = allocator.allocate(80 * kMiB, main);
  EXPECT_EQ(memory.waits, 1) << "then it waits for the other stream";
  EXPECT_EQ(memory.frees, 1);
  EXPECT_THROWS(allocator.allocate(40 * kMiB, main), OutOfMemoryError, "41943040 bytes requested",
                "18874368 bytes free", "85983232 bytes reserved", "83886592 bytes allocated", "smaller batches");
  allocator.deallocate(b);
  allocator.deallocate(allocator.allocate(40 * kMiB, main));
  allocator.deallocate(small);
  allocator.empty_cache();
  EXPECT_EQ(memory.in_use, 0U);
  EXPECT_EQ(allocator.stats().reserved_bytes, 0);
}

TEST_F(CachingAllocatorTest, RequestBeyondTheAddressSpaceIsRefused) {
  EXPECT_THROWS(allocator.allocate(SIZE_MAX, main), OutOfMemoryError, "bytes requested", "0 bytes allocated");
}

TEST_F(CachingAllocatorTest, PeaksAreResetOnDemand) {
  allocator.deallocate(allocator.allocate(kMiB, main));
  EXPECT_EQ(allocator.stats().max_allocated_bytes, static_cast<int64_t>(kMiB));
  allocator.reset_peak_stats();
  EXPECT_EQ(allocator.stats().max_allocated_bytes, 0);
  EXPECT_EQ(allocator.stats().max_reserved_bytes, static_cast<int64_t>(2 * kMiB));
}

TEST_F(CachingAllocatorTest, PrivatePoolIsSeparateAndKept) {
  const void* const pool = &memory;  // stands for a stream that does not exist
  allocator.deallocate(allocator.allocate(1000, main));
  allocator.keep(pool);
  allocator.begin_capture();
  void* a = allocator.allocate(1000, pool);
  EXPECT_EQ(memory.mallocs, 2) << "memory of eager work is not for graphs";
  allocator.deallocate(a);
  EXPECT_EQ(allocator.allocate(1000, pool), a) << "reused within the capture";
  EXPECT_EQ(allocator.stream_of(a), pool);
  allocator.empty_cache();
  EXPECT_EQ(memory.frees, 0) << "no memory is returned during a capture";
  allocator.end_capture();
  allocator.deallocate(a);
  EXPECT_EQ(allocator.stream_of(a), nullptr) << "no live block";
  void* eager = allocator.allocate(1000, main);
  EXPECT_NE(eager, a);
  EXPECT_EQ(memory.mallocs, 2) << "memory of graphs is not for eager work";
  allocator.empty_cache();
  EXPECT_EQ(memory.frees, 0);
  void* output = allocator.allocate(1000, pool);
  allocator.release(pool);
  EXPECT_EQ(memory.frees, 0) << "a tensor of the graph is alive";
  allocator.deallocate(output);
  allocator.empty_cache();
  EXPECT_EQ(memory.frees, 1);
}

TEST_F(CachingAllocatorTest, PoolIsFreedAtItsLastRelease) {
  const void* const pool = &memory;
  allocator.keep(pool);
  allocator.keep(pool);
  allocator.deallocate(allocator.allocate(1000, pool));
  allocator.release(pool);
  EXPECT_EQ(memory.frees, 0);
  allocator.release(pool);
  EXPECT_EQ(memory.frees, 1);
}

TEST_F(CachingAllocatorTest, QueriesNoEventDuringACapture) {
  const auto use_elsewhere = [&] {
    void* block = allocator.allocate(1000, main);
    allocator.record_stream(block, other);
    allocator.deallocate(block);
    return block;
  };
  void* before = use_elsewhere();
  memory.events_done = true;
  allocator.begin_capture();
  EXPECT_NE(allocator.allocate(1000, main), before) << "which would have queried its event";
  use_elsewhere();
  EXPECT_EQ(memory.live_events, 1) << "postponed";
  allocator.begin_capture();
  allocator.end_capture();
  EXPECT_EQ(memory.live_events, 1) << "one capture is still underway";
  allocator.end_capture();
  EXPECT_EQ(memory.live_events, 2);
  allocator.empty_cache();
  EXPECT_EQ(memory.live_events, 0);
}

TEST_F(CachingAllocatorTest, ExhaustionInACaptureNamesTheRemedy) {
  memory.capacity = 20 * kMiB;
  allocator.deallocate(allocator.allocate(20 * kMiB, main));
  allocator.begin_capture();
  EXPECT_THROWS(allocator.allocate(20 * kMiB, other), OutOfMemoryError, "empty_cache() before the capture");
  EXPECT_EQ(memory.frees + memory.waits, 0);
  allocator.end_capture();
  EXPECT_NE(allocator.allocate(20 * kMiB, other), nullptr);
}

/// Live blocks never overlap and lie inside segments; at the end all memory is returned.
TEST_F(CachingAllocatorTest, RandomUse) {
  std::mt19937_64 random(1);
  std::map<char*, size_t> live;
  memory.capacity = 4096 * kMiB;
  for (int i = 0; i < 20000; ++i) {
    memory.events_done = random() % 3 == 0;
    if (live.empty() || random() % 2 == 0) {
      const size_t bytes = random() % 4 == 0 ? random() % (30 * kMiB) : random() % (64 * kKiB);
      const void* stream = random() % 4 == 0 ? other : main;
      if (live.size() > 100) continue;
      auto* block = static_cast<char*>(allocator.allocate(bytes, stream));
      const auto after = live.lower_bound(block);
      if (after != live.end()) {
        ASSERT_LE(block + bytes, after->first);
      }
      if (after != live.begin()) {
        ASSERT_LE(std::prev(after)->first + std::prev(after)->second, block);
      }
      const auto segment = std::prev(memory.segments.upper_bound(block));
      ASSERT_LE(block + bytes, static_cast<char*>(segment->first) + segment->second);
      live[block] = bytes;
      if (random() % 8 == 0) allocator.record_stream(block, random() % 2 == 0 ? main : other);
    } else {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
      ASSERT_TRUE(allocator.deallocate(victim->first));
      live.erase(victim);
    }
  }
  for (const auto& [block, bytes] : live) allocator.deallocate(block);
  memory.events_done = true;
  allocator.empty_cache();
  EXPECT_EQ(memory.in_use, 0U);
  EXPECT_EQ(memory.live_events, 0);
  EXPECT_EQ(allocator.stats().allocated_bytes, 0);
}

}  // namespace
}  // namespace tandem::cuda
