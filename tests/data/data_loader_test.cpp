// DataLoader and samplers: order, epochs, workers, exceptions, stopping early.
#include "tandem/data/data_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/throws.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

using Batch = std::vector<size_t>;
using namespace std::chrono_literals;

/// Item i is the number i; calls `act` before each.
class Counting : public datasets::Dataset<Counting, size_t> {
 public:
  explicit Counting(
      size_t size, std::function<void(size_t)> act = [](size_t) {})
      : size_(size), act_(std::move(act)) {}
  size_t get(size_t i) override {
    act_(i);
    return i;
  }
  std::optional<size_t> size() const override { return size_; }

 private:
  size_t size_;
  std::function<void(size_t)> act_;
};

template <class Loader>
std::vector<Batch> epoch(Loader& loader) {
  std::vector<Batch> batches;
  for (Batch& b : *loader) batches.push_back(std::move(b));
  return batches;
}
Batch flat(const std::vector<Batch>& batches) {
  Batch all;
  for (const Batch& b : batches) all.insert(all.end(), b.begin(), b.end());
  return all;
}
Batch first_numbers(size_t n) {
  Batch all(n);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

TEST(Samplers, Sequential) {
  samplers::SequentialSampler s(5);
  EXPECT_EQ(s.next(3), (Batch{0, 1, 2}));
  EXPECT_EQ(s.next(3), (Batch{3, 4}));
  EXPECT_EQ(s.next(3), std::nullopt);
  s.reset(2);
  EXPECT_EQ(s.next(3), (Batch{0, 1}));
}

TEST(Samplers, RandomIsAPermutationSetByTheSeed) {
  std::vector<Batch> orders;
  for (int run = 0; run < 2; ++run) {
    manual_seed(5);
    samplers::RandomSampler s(100);
    for (int i = 0; i < 2; ++i) {
      orders.push_back(*s.next(1000));
      EXPECT_EQ(s.next(1), std::nullopt);
      s.reset();
    }
  }
  EXPECT_EQ(std::set<size_t>(orders[0].begin(), orders[0].end()).size(), 100U);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
  EXPECT_EQ(orders[1], orders[3]);
}

TEST(DataLoader, LastBatchMayBeSmallerOrDropped) {
  for (size_t workers : {0, 1, 3}) {
    auto options = DataLoaderOptions(4).workers(workers);
    auto loader = make_data_loader<samplers::SequentialSampler>(Counting(10), options);
    EXPECT_EQ(epoch(loader), (std::vector<Batch>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
    auto dropping = make_data_loader<samplers::SequentialSampler>(Counting(10), options.drop_last(true));
    EXPECT_EQ(epoch(dropping), (std::vector<Batch>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    auto nothing = make_data_loader(Counting(0), options);
    EXPECT_TRUE(epoch(nothing).empty());
  }
}

TEST(DataLoader, OrderDependsOnEpochNotWorkers) {
  std::vector<std::vector<Batch>> seen[2];
  for (size_t workers : {0, 3}) {
    manual_seed(7);
    auto loader = make_data_loader(Counting(50, [](size_t i) { std::this_thread::sleep_for((i % 3) * 100us); }),
                                   DataLoaderOptions(3).workers(workers).max_jobs(4));
    for (int i = 0; i < 3; ++i) {
      seen[workers > 0].push_back(epoch(loader));
      Batch all = flat(seen[workers > 0].back());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, first_numbers(50));
    }
  }
  EXPECT_NE(seen[0][0], seen[0][1]);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(DataLoader, WithoutOrderingEveryBatchComesOnce) {
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Counting(64, [](size_t i) { std::this_thread::sleep_for(i < 4 ? 20ms : 0ms); }),
      DataLoaderOptions(4).workers(2).enforce_ordering(false));
  const auto batches = epoch(loader);
  EXPECT_NE(batches[0][0], 0U);  // the first request is the slowest
  Batch all = flat(batches);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, first_numbers(64));
}

TEST(DataLoader, WorkersRunAheadUpToMaxJobs) {
  std::atomic<size_t> most = 0;
  auto loader =
      make_data_loader<samplers::SequentialSampler>(Counting(100,
                                                             [&](size_t i) {
                                                               size_t old = most;
                                                               while (old < i && !most.compare_exchange_weak(old, i)) {
                                                               }
                                                             }),
                                                    DataLoaderOptions(1).workers(2).max_jobs(5));
  auto it = loader->begin();
  EXPECT_EQ(*it, Batch{0});
  for (int i = 0; i < 1000 && most < 5; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(most, 5U);
}

TEST(DataLoader, RethrowsExceptionsAndStaysUsable) {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
    int code = 42;
  };
  for (size_t workers : {0, 2}) {
    std::atomic<bool> faulty = true;
    auto loader = make_data_loader<samplers::SequentialSampler>(Counting(20,
                                                                         [&](size_t i) {
                                                                           if (i == 9 && faulty) throw Mine("item 9");
                                                                         }),
                                                                DataLoaderOptions(4).workers(workers));
    std::vector<Batch> before;
    try {
      for (const Batch& b : *loader) before.push_back(b);
      FAIL() << "nothing was thrown";
    } catch (const Mine& e) {
      EXPECT_STREQ(e.what(), "item 9");
      EXPECT_EQ(e.code, 42);
    }
    EXPECT_EQ(before, (std::vector<Batch>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    faulty = false;
    EXPECT_EQ(flat(epoch(loader)), first_numbers(20));
  }
}

TEST(DataLoader, IterationCanContinueAfterAnException) {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Counting(6,
                                                                         [](size_t i) {
                                                                           if (i == 2) throw std::runtime_error("2");
                                                                         }),
                                                                DataLoaderOptions(1).workers(workers));
    auto it = loader->begin();
    ++it;
    EXPECT_THROW(++it, std::runtime_error);
    ++it;
    EXPECT_EQ(*it, Batch{3});
  }
}

TEST(DataLoader, RestartsAfterLeavingEarly) {
  for (size_t workers : {0, 1, 4}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Counting(1000, [](size_t) { std::this_thread::sleep_for(50us); }), DataLoaderOptions(5).workers(workers));
    for (int i = 0; i < 20; ++i) {
      size_t expected = 0;
      for (const Batch& b : *loader) {
        ASSERT_EQ(b[0], expected);  // nothing from the previous epoch
        expected += 5;
        if (expected > 10) break;
      }
    }
    const auto it = loader->begin();
    EXPECT_EQ((*it)[0], 0U);
  }  // destroyed with requests outstanding
}

TEST(DataLoader, MayBeDestroyedBeforeTheFirstBatch) {
  for (int i = 0; i < 20; ++i) make_data_loader(Counting(10), DataLoaderOptions(2).workers(3));
}

TEST(DataLoader, WorkersHaveCopiesOfTheDataset) {
  struct Stateful : datasets::Dataset<Stateful, int> {
    int calls = 0;  // would race if shared
    int get(size_t) override { return ++calls; }
    std::optional<size_t> size() const override { return 200; }
  };
  auto loader = make_data_loader(Stateful(), DataLoaderOptions(1).workers(4));
  int total = 0;
  for (const auto& b : *loader) total += b[0] > 0;
  EXPECT_EQ(total, 200);
}

TEST(DataLoader, BadInputIsRefused) {
  struct MoveOnly : datasets::Dataset<MoveOnly, int> {
    std::unique_ptr<int> value = std::make_unique<int>(3);
    int get(size_t) override { return *value; }
    std::optional<size_t> size() const override { return 2; }
  };
  struct Unsized : datasets::Dataset<Unsized, int> {
    int get(size_t) override { return 1; }
    std::optional<size_t> size() const override { return std::nullopt; }
  };
  EXPECT_THROWS(make_data_loader(Counting(3), 0), StateError, "batch_size is 0");
  EXPECT_THROWS(make_data_loader(MoveOnly(), DataLoaderOptions(1).workers(1)), StateError, "copy", "workers(0)");
  auto alone = make_data_loader(MoveOnly(), 2);
  EXPECT_EQ(*alone->begin(), (std::vector<int>{3, 3}));
  EXPECT_THROWS(make_data_loader(Unsized(), 2), StateError, "size");
  auto given = make_data_loader(Unsized(), samplers::SequentialSampler(3), 2);
  EXPECT_EQ(*given->begin(), (std::vector<int>{1, 1}));
}

TEST(DataLoader, SlowWorkerTimesOut) {
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Counting(2, [](size_t) { std::this_thread::sleep_for(100ms); }), DataLoaderOptions(1).workers(1).timeout(5ms));
  EXPECT_THROWS(loader->begin(), StateError, "timeout of 5 ms");
}

TEST(DataLoader, LongestTimeoutsDoNotOverflow) {
  EXPECT_EQ(DataLoaderOptions().timeout(std::chrono::hours::max()).timeout(), INT64_MAX);
  for (const auto& options : {DataLoaderOptions(2).timeout(std::chrono::hours::max()),
                              DataLoaderOptions(2).timeout(std::chrono::milliseconds::max())}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Counting(4, [](size_t) { std::this_thread::sleep_for(1ms); }), DataLoaderOptions(options).workers(1));
    EXPECT_EQ(flat(epoch(loader)), first_numbers(4));
  }
}

TEST(Samplers, EndHasNoBatch) {
  auto loader = make_data_loader<samplers::SequentialSampler>(Counting(1), DataLoaderOptions(1));
  auto at = loader->begin();
  ++at;
  EXPECT_THROWS(*at, StateError, "DataLoader", "begin()");
  auto end = loader->end();
  EXPECT_THROWS(*end, StateError, "DataLoader", "begin()");
  EXPECT_THROWS(++end, StateError, "DataLoader", "end()", "begin()");
}

}  // namespace
}  // namespace tandem::data
