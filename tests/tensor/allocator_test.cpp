// The caching allocator: alignment, reuse, statistics, returning memory, exhaustion, threads.
#include "tandem/tensor/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/tensor/size_class.h"
#include "src/tensor/system_memory.h"
#include "support/memory_limit.h"
#include "support/sanitizers.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Sanitizers write shadow memory for every block, and fork() copies it.
constexpr int kFewer = testing::kSanitized ? 10 : 1;

struct Block {
  void* data;
  size_t bytes;
};

Block take(size_t bytes) { return {cpu::allocate(bytes), bytes}; }
void give(Block block) { cpu::deallocate(block.data, block.bytes); }

TEST(SizeClass, WastesAtMostAnEighth) {
  for (size_t bytes = 1; bytes <= cpu::kSmallBytes; ++bytes) {
    const cpu::SizeClass c = cpu::size_class(bytes);
    ASSERT_GE(c.bytes, bytes);
    ASSERT_EQ(c.bytes % cpu::kAlignment, 0U);
    ASSERT_EQ(cpu::class_bytes(c.index), c.bytes);
    ASSERT_EQ(cpu::block_bytes(bytes), c.bytes);
    ASSERT_EQ(cpu::block_bytes(c.bytes), c.bytes);
    if (bytes > 512) {
      ASSERT_LE(c.bytes, bytes + bytes / 8) << bytes;
    }
    if (c.index > 0) {
      ASSERT_LT(cpu::class_bytes(c.index - 1), bytes);
    }
  }
  EXPECT_EQ(cpu::size_class(0).bytes, 64U);
  EXPECT_EQ(cpu::size_class(cpu::kSmallBytes).index, cpu::kNumSizeClasses - 1);
  for (size_t bytes = cpu::kSmallBytes + 1; bytes < 40 * kMiB; bytes += 4093) {
    ASSERT_GE(cpu::block_bytes(bytes), bytes);
    ASSERT_LE(cpu::block_bytes(bytes), bytes + bytes / 8);
    ASSERT_EQ(cpu::block_bytes(cpu::block_bytes(bytes)), cpu::block_bytes(bytes));
  }
}

TEST(Allocator, BlocksAreAlignedDistinctAndWritable) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 513UL, 4096UL, 100000UL, 2 * kMiB, 5 * kMiB + 1}) {
    for (int i = 0; i < 3; ++i) {
      auto* p = static_cast<unsigned char*>(cpu::allocate(bytes));
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0U);
      std::memset(p, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(p, bytes);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t at : {size_t{0}, blocks[i].second / 2, blocks[i].second - 1}) {
      if (blocks[i].second > 0) {
        EXPECT_EQ(blocks[i].first[at], i);
      }
    }
    cpu::deallocate(blocks[i].first, blocks[i].second);
  }
}

TEST(Allocator, FreedBlocksAreReusedWithoutSystemCalls) {
  for (size_t bytes : {size_t{100}, size_t{70000}, 3 * kMiB}) {
    void* first = cpu::allocate(bytes);
    cpu::deallocate(first, bytes);
    const AllocatorStats before = cpu::memory_stats();
    void* second = cpu::allocate(bytes);
    EXPECT_EQ(second, first);
    cpu::deallocate(second, bytes);
    const AllocatorStats after = cpu::memory_stats();
    EXPECT_EQ(after.system_allocations, before.system_allocations);
    EXPECT_EQ(after.allocations, before.allocations + 1);
    EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  }
}

TEST(Allocator, StatisticsFollowTheBlocks) {
  cpu::reset_peak_memory_stats();
  const AllocatorStats before = cpu::memory_stats();
  EXPECT_EQ(before.max_allocated_bytes, before.allocated_bytes);
  const size_t bytes = 4 * kMiB;
  const int64_t block = static_cast<int64_t>(cpu::block_bytes(bytes + (cpu::kPoisoning ? 64 : 0)));
  void* a = cpu::allocate(bytes);
  void* b = cpu::allocate(bytes);
  EXPECT_EQ(cpu::memory_allocated(), before.allocated_bytes + 2 * block);
  EXPECT_GE(cpu::memory_reserved(), cpu::memory_allocated());
  cpu::deallocate(a, bytes);
  cpu::deallocate(b, bytes);
  EXPECT_EQ(cpu::memory_allocated(), before.allocated_bytes);
  EXPECT_EQ(cpu::max_memory_allocated(), before.allocated_bytes + 2 * block);
  EXPECT_GE(cpu::memory_stats().max_reserved_bytes, cpu::memory_stats().max_allocated_bytes);
  cpu::reset_peak_memory_stats();
  EXPECT_EQ(cpu::max_memory_allocated(), before.allocated_bytes);
}

TEST(Allocator, EmptyCacheReleasesOnlyFreeMemory) {
  cpu::empty_cache();
  const int64_t start = cpu::memory_reserved();
  std::vector<void*> small, kept;
  for (int i = 0; i < 5000; ++i) (i % 1000 == 7 ? kept : small).push_back(cpu::allocate(1000));
  for (void* p : kept) std::memset(p, 0x5a, 1000);
  void* large = cpu::allocate(8 * kMiB);
  const int64_t full = cpu::memory_reserved();
  EXPECT_GE(full - start, static_cast<int64_t>(5000 * 1000 + 8 * kMiB));
  for (void* p : small) cpu::deallocate(p, 1000);
  cpu::deallocate(large, 8 * kMiB);
  EXPECT_EQ(cpu::memory_reserved(), full);
  cpu::empty_cache();
  EXPECT_LE(cpu::memory_reserved() - start, static_cast<int64_t>(5 * (256 << 10)));
  EXPECT_GT(cpu::memory_reserved(), start);
  for (void* p : kept) {
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<unsigned char*>(p)[i], 0x5a);
  }
  // The slabs that were kept are reused, each block once.
  std::set<void*> again(kept.begin(), kept.end());
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(again.insert(cpu::allocate(1000)).second);
  for (void* p : again) cpu::deallocate(p, 1000);
  cpu::empty_cache();
  EXPECT_EQ(cpu::memory_reserved(), start);
}

TEST(Allocator, LargeBlocksAvoidPowerOfTwoDistances) {
  for (size_t size : {32 * kMiB, 33 * kMiB, 64 * kMiB, 256 * kMiB, 256 * kMiB - 64 * 1024}) {
    std::vector<char*> blocks;
    for (int i = 0; i < 18; ++i) blocks.push_back(static_cast<char*>(cpu::allocate(size)));
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        EXPECT_EQ((blocks[i] - blocks[j]) % 4096, 0);
        for (int k = 28; k < 40; ++k) EXPECT_NE(std::abs(blocks[i] - blocks[j]), int64_t{1} << k) << size;
      }
    }
    for (char* p : blocks) cpu::deallocate(p, size);
  }
  cpu::empty_cache();
}

/// Makes the allocations of a training step: activations live until backward, which frees them in reverse order.
void train_step(size_t batch, size_t length) {
  constexpr size_t kHidden = 64, kLayers = 6, kHeads = 4;
  const size_t x = batch * length * kHidden * 4;
  std::vector<Block> saved;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    saved.push_back(take(3 * x));
    saved.push_back(take(batch * kHeads * length * length * 4));
    const Block temporary = take(2 * x);
    saved.push_back(take(x));
    give(temporary);
    saved.push_back(take(batch * length * 4));
  }
  Block gradient = take(x);
  while (!saved.empty()) {
    const Block next = take(saved.back().bytes);
    give(gradient);
    gradient = next;
    give(saved.back());
    saved.pop_back();
  }
  give(gradient);
}

/// Returns the peak of reserved bytes divided by that of allocated bytes while `work` runs, from an empty cache.
double reserved_over_live(const std::function<void()>& work) {
  cpu::empty_cache();
  cpu::reset_peak_memory_stats();
  work();
  const AllocatorStats stats = cpu::memory_stats();
  return static_cast<double>(stats.max_reserved_bytes) / static_cast<double>(stats.max_allocated_bytes);
}

TEST(AllocatorCache, VaryingSizesShareMemory) {
  if (testing::kEmulated) GTEST_SKIP() << "qemu maps memory at low addresses, where zones have no room to grow";
  std::mt19937 random(1);
  EXPECT_LE(reserved_over_live([&] {
              for (int i = 0; i < 300 / kFewer; ++i) train_step(1 + random() % 64, 64);
            }),
            1.5);
  EXPECT_LE(reserved_over_live([&] {
              for (int i = 0; i < 300 / kFewer; ++i) train_step(32, 1 + random() % 128);
            }),
            1.5);
  EXPECT_LE(reserved_over_live([&] {
              for (int i = 0; i < 300 / kFewer; ++i) train_step(1 + random() % 64, 1 + random() % 128);
            }),
            1.5);
}

TEST(AllocatorCache, GrowingSizesReuseTheMemoryOfSmallerOnes) {
  if (testing::kEmulated) GTEST_SKIP() << "qemu maps memory at low addresses, where zones have no room to grow";
  EXPECT_LE(reserved_over_live([] {
              for (size_t k = 8; k < 128; ++k) {
                const Block a = take(k * kMiB), b = take(k * kMiB);
                give(a);
                give(b);
              }
            }),
            1.1);
}

TEST(AllocatorCache, RandomLifetimesStayUnderTheBound) {
  std::mt19937 random(2);
  for (size_t largest : {size_t{1} << 17, size_t{1} << 22, size_t{1} << 26}) {
    std::vector<Block> live;
    EXPECT_LE(reserved_over_live([&] {
                for (int i = 0; i < 20000 / kFewer; ++i) {
                  if (live.size() < 200 || (random() % 2 && live.size() < 400)) {
                    live.push_back(take(1 + random() % largest));
                  } else {
                    std::swap(live[random() % live.size()], live.back());
                    give(live.back());
                    live.pop_back();
                  }
                }
              }),
              1.5)
        << largest;
    for (Block block : live) give(block);
  }
}

TEST(AllocatorCache, SmallBlockMemoryIsReusedForOtherSizes) {
  EXPECT_LE(reserved_over_live([] {
              for (size_t bytes = 64; bytes <= 32768; bytes += 64 * kFewer) {
                std::vector<Block> blocks;
                for (size_t total = 0; total < 16 * kMiB; total += bytes) blocks.push_back(take(bytes));
                for (Block block : blocks) give(block);
              }
            }),
            1.5);
}

TEST(AllocatorCache, RepeatedStepsMakeNoSystemCalls) {
  std::mt19937 random(3);
  for (int program = 0; program < 20; ++program) {
    const size_t batch = 1 + random() % 64, length = 1 + random() % 128;
    if (program % 5 == 0) cpu::empty_cache();
    for (int i = 0; i < 20; ++i) train_step(batch, length);
    const AllocatorStats warm = cpu::memory_stats();
    for (int i = 0; i < 20; ++i) train_step(batch, length);
    EXPECT_EQ(cpu::memory_stats().system_allocations, warm.system_allocations) << batch << " x " << length;
    EXPECT_EQ(cpu::memory_stats().reserved_bytes, warm.reserved_bytes);
  }
  cpu::empty_cache();
}

TEST(Allocator, ImpossibleRequestsReportTheSizes) {
  for (size_t bytes : {size_t{1} << 45, size_t{1} << 62, ~size_t{0}}) {
    const int64_t live = cpu::memory_allocated();
    try {
      cpu::allocate(bytes);
      FAIL() << "no exception";
    } catch (const OutOfMemoryError& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find(std::to_string(bytes) + " bytes requested"), std::string::npos) << what;
      EXPECT_NE(what.find(std::to_string(live) + " bytes allocated"), std::string::npos) << what;
      EXPECT_NE(what.find("bytes reserved"), std::string::npos) << what;
    }
    EXPECT_EQ(cpu::memory_allocated(), live);
  }
}

TEST(Allocator, ExhaustionFreesTheCacheAndRetries) {
  if (!testing::MemoryLimit::is_possible()) GTEST_SKIP() << "memory cannot be limited";
  // Cached, but neither block is large enough for the request below.
  const Block first = take(256 * kMiB), between = take(3 * kMiB), second = take(256 * kMiB), last = take(3 * kMiB);
  give(first);
  give(second);
  void* block = nullptr;
  {
    const testing::MemoryLimit limit(100 * kMiB);
    EXPECT_NO_THROW(block = cpu::allocate(400 * kMiB));
    EXPECT_THROW(cpu::allocate(800 * kMiB), OutOfMemoryError);
  }
  if (block) cpu::deallocate(block, 400 * kMiB);
  give(between);
  give(last);
  cpu::empty_cache();
}

#if defined(__SANITIZE_ADDRESS__)
TEST(AllocatorDeathTest, AddressSanitizerDetectsUseAfterFreeAndOverrun) {
  for (size_t bytes : {size_t{100}, 3 * kMiB}) {
    auto* p = static_cast<volatile char*>(cpu::allocate(bytes));
    EXPECT_DEATH(p[bytes] = 1, "use-after-poison");
    p[bytes - 1] = 1;
    cpu::deallocate(const_cast<char*>(p), bytes);
    EXPECT_DEATH(p[0] = 1, "use-after-poison");
    EXPECT_DEATH(p[bytes - 1] = 1, "use-after-poison");
  }
}
#endif

// Threads exchange blocks through a shared box. Each block has a stamp that must not be overwritten.
TEST(AllocatorThreads, ThreadsAllocateFreeAndExchangeBlocks) {
  struct Item {
    unsigned char* data;
    size_t bytes;
    unsigned char stamp;
  };
  const int64_t live = cpu::memory_allocated();
  std::mutex mutex;
  std::vector<Item> box;
  std::atomic<int> damaged{0};
  const auto release = [&](const Item& item) {
    if (item.data[0] != item.stamp || item.data[item.bytes - 1] != item.stamp) ++damaged;
    cpu::deallocate(item.data, item.bytes);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<Item> mine;
      for (int step = 0; step < 4000; ++step) {
        const size_t bytes = step % 256 == 0 ? 2 * kMiB + random() % kMiB
                             : step % 8 == 0 ? 30000 + random() % 100000
                                             : 1 + random() % 3000;
        const Item item{static_cast<unsigned char*>(cpu::allocate(bytes)), bytes, static_cast<unsigned char>(random())};
        item.data[0] = item.data[bytes - 1] = item.stamp;
        mine.push_back(item);
        if (mine.size() > 20) {
          std::swap(mine[random() % mine.size()], mine.back());
          const Item old = mine.back();
          mine.pop_back();
          if (step % 3 == 0) {
            const std::lock_guard lock(mutex);
            box.push_back(old);
          } else {
            release(old);
          }
        }
        if (step % 64 == 0) {
          std::vector<Item> others;
          {
            const std::lock_guard lock(mutex);
            others.swap(box);
          }
          for (const Item& other : others) release(other);
        }
        if (step % 1000 == 999) cpu::empty_cache();
        if (step % 500 == 0) {
          EXPECT_GE(cpu::memory_stats().allocations, 0);
        }
      }
      for (const Item& item : mine) release(item);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Item& item : box) release(item);
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(cpu::memory_allocated(), live);
}

#if !defined(__SANITIZE_THREAD__)
TEST(AllocatorThreads, ForkedChildCanAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        const Block a = take(random() % 2000), b = take(40000 + random() % 100000);
        give(a);
        give(b);
      }
    });
  }
  int hung = 0;
  for (int i = 0; i < 40 / kFewer; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (size_t bytes = 1; bytes < 200000; bytes *= 2) give(take(bytes));
      _exit(0);
    }
    int status = 1;
    pid_t ended = 0;
    for (int ms = 0; ms < 5000 && ended == 0; ++ms) {
      ended = waitpid(child, &status, WNOHANG);
      if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (ended == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      ++hung;
      break;
    }
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hung, 0);
}
#endif

// Freed after main has returned and static objects have been destroyed.
struct AtExit {
  void* block = cpu::allocate(100);
  ~AtExit() { cpu::deallocate(block, 100); }
};
const AtExit at_exit;

}  // namespace
}  // namespace tandem
