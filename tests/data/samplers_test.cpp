// Samplers for weights, subsets, streams, batches and several processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "data/values.h"
#include "support/bad_input.h"
#include "support/state.h"
#include "tandem/data/data.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data::samplers {
namespace {

using namespace testing;
using Indices = std::vector<size_t>;

template <class S>
Indices rest(S& sampler, size_t batch_size = 7) {
  Indices all;
  while (const auto request = sampler.next(batch_size)) all.insert(all.end(), request->begin(), request->end());
  return all;
}
Indices sorted(Indices v) {
  std::sort(v.begin(), v.end());
  return v;
}

TEST(WeightedRandomSampler, FollowsTheWeights) {
  manual_seed(1);
  WeightedRandomSampler sampler({1.0, 0.0, 3.0}, 8000);
  std::map<size_t, double> counts;
  for (size_t i : rest(sampler, 100)) ++counts[i];
  EXPECT_EQ(counts.count(1), 0U);
  EXPECT_NEAR(counts[2] / counts[0], 3, 0.25);  // 5 standard deviations
  WeightedRandomSampler each({1.0, 2.0, 0.5}, 3, false);
  EXPECT_EQ(sorted(rest(each)), (Indices{0, 1, 2}));
  const Indices before = (sampler.reset(), rest(sampler));
  EXPECT_NE(before, (sampler.reset(), rest(sampler)));
}

TEST(SubsetRandomSampler, RequestsItsIndicesInARandomOrder) {
  manual_seed(2);
  Indices wanted(50);
  std::iota(wanted.begin(), wanted.end(), size_t{100});
  SubsetRandomSampler sampler(wanted);
  const Indices first = rest(sampler);
  EXPECT_EQ(sorted(first), wanted);
  EXPECT_NE(first, wanted);
  sampler.reset();
  EXPECT_NE(rest(sampler), first);
}

TEST(StreamSampler, CountsItems) {
  StreamSampler sampler(5);
  EXPECT_EQ(sampler.next(3)->size(), 3U);
  EXPECT_EQ(*sampler.next(3), 2U);
  EXPECT_FALSE(sampler.next(3));
  sampler.reset(1);
  EXPECT_EQ(*sampler.next(3), 1U);
}

TEST(BatchSampler, HasASizeOfItsOwn) {
  for (const bool drop_last : {false, true}) {
    BatchSampler sampler(SequentialSampler(5), 2, drop_last);
    sampler.reset();
    EXPECT_EQ(*sampler.next(100), (Indices{0, 1}));
    EXPECT_EQ(*sampler.next(1), (Indices{2, 3}));
    EXPECT_EQ(sampler.next(1).has_value(), !drop_last);
  }
}

TEST(DistributedSamplers, DivideTheItemsEvenly) {
  for (const size_t size : {0, 1, 3, 12, 14}) {
    for (const bool duplicates : {false, true}) {
      std::map<size_t, size_t> counts;
      const size_t local = duplicates ? (size + 3) / 4 : size / 4;
      for (size_t rank = 0; rank < 4; ++rank) {
        DistributedRandomSampler random(size, 4, rank, duplicates);
        random.set_epoch(5);
        random.reset();
        const Indices part = rest(random, 2);
        EXPECT_EQ(part.size(), local);
        for (size_t i : part) ++counts[i];
        DistributedSequentialSampler sequential(size, 4, rank, duplicates);
        EXPECT_EQ(sequential.index(), rank * local);
        Indices expected(local);
        for (size_t i = 0; i < local; ++i) expected[i] = (rank * local + i) % size;
        EXPECT_EQ(rest(sequential, 2), expected);
        EXPECT_EQ(sequential.index(), (rank + 1) * local);
      }
      EXPECT_EQ(counts.size(), duplicates ? size : 4 * local);
      if (size >= 4) {
        for (const auto& [item, count] : counts) EXPECT_LE(count, 2U) << item;
      }
    }
  }
}

TEST(DistributedSamplers, OrderDependsOnlyOnTheEpoch) {
  manual_seed(1);
  DistributedRandomSampler a(100, 2, 1), b(100, 2, 1);
  const Indices first = rest(a);
  manual_seed(2);
  EXPECT_EQ(rest(b), first);
  a.reset();
  EXPECT_EQ(rest(a), first) << "without set_epoch";
  a.set_epoch(1);
  EXPECT_EQ(a.epoch(), 1U);
  a.reset();
  EXPECT_NE(rest(a), first);
}

template <class S>
void check_resumes(S sampler, S other, size_t batch_size = 3) {
  sampler.next(batch_size);
  const StateDict state = clone(sampler.state_dict());
  other.load_state_dict(state);
  EXPECT_EQ(difference(other.state_dict(), state), "");
  EXPECT_EQ(rest(other), rest(sampler));
}

TEST(SamplerState, Resumes) {
  check_resumes(WeightedRandomSampler({1.0, 2.0, 3.0}, 20), WeightedRandomSampler({1.0, 2.0, 3.0}, 20));
  check_resumes(SubsetRandomSampler({3, 5, 8, 9, 1}), SubsetRandomSampler({3, 5, 8, 9, 1}));
  check_resumes(BatchSampler(RandomSampler(20), 4, false), BatchSampler(RandomSampler(20), 4, false));
  DistributedRandomSampler epoch_7(30, 3, 1);
  epoch_7.set_epoch(7);
  epoch_7.reset();
  check_resumes(epoch_7, DistributedRandomSampler(30, 3, 1));
  check_resumes(DistributedSequentialSampler(30, 3, 1), DistributedSequentialSampler(30, 3, 1));
  StreamSampler stream(10), same(10);
  stream.next(4);
  same.load_state_dict(stream.state_dict());
  EXPECT_EQ(*same.next(100), 6U);
}

TEST(SamplerState, OneFileServesAllRanks) {
  const auto expect_same_rest = [](auto first, auto third, auto resumed) {
    first.next(3);
    third.next(3);
    resumed.load_state_dict(clone(first.state_dict()));
    EXPECT_EQ(rest(resumed), rest(third));
  };
  expect_same_rest(DistributedRandomSampler(30, 3, 0), DistributedRandomSampler(30, 3, 2),
                   DistributedRandomSampler(30, 3, 2));
  expect_same_rest(DistributedSequentialSampler(30, 3, 0), DistributedSequentialSampler(30, 3, 2),
                   DistributedSequentialSampler(30, 3, 2));
}

/// Requests all items by several numbers of ranks, one after another; returns how often each item was requested.
template <class S>
std::map<size_t, size_t> count_over_ranks(size_t size, bool duplicates, const std::vector<size_t>& numbers_of_ranks) {
  std::map<size_t, size_t> counts;
  StateDict state;
  for (size_t i = 0; i < numbers_of_ranks.size(); ++i) {
    const size_t ranks = numbers_of_ranks[i], last = i + 1 == numbers_of_ranks.size();
    StateDict after;
    for (size_t rank = 0; rank < ranks; ++rank) {
      S sampler(size, ranks, rank, duplicates);
      if (i > 0) sampler.load_state_dict(state);
      for (size_t batch = 0; last || batch < 2; ++batch) {
        const auto request = sampler.next(2);
        if (!request) break;
        for (const size_t item : *request) ++counts[item];
      }
      if (rank == 0) after = clone(sampler.state_dict());
    }
    state = after;
  }
  return counts;
}

TEST(SamplerState, OtherNumbersOfRanksTakeTheRestOfTheEpoch) {
  const std::vector<std::vector<size_t>> runs = {{2, 4}, {4, 2}, {3, 1}, {1, 2, 3, 4}, {4, 4, 3, 3, 1}, {5, 2, 5}};
  for (const std::vector<size_t>& ranks : runs) {
    for (const size_t size : {60, 53, 7, 1}) {
      for (const auto count :
           {count_over_ranks<DistributedRandomSampler>, count_over_ranks<DistributedSequentialSampler>}) {
        // Without duplicates each item is requested at most once, and fewer than the ranks of the last run are left.
        const auto once = count(size, false, ranks);
        EXPECT_GT(once.size() + ranks.back(), size);
        for (const auto& [item, times] : once) EXPECT_EQ(times, 1U) << item;
        // With duplicates none is left out; runs repeat items only where a part was requested to its end.
        const auto all = count(size, true, ranks);
        EXPECT_EQ(all.size(), size);
        for (const auto& [item, times] : all) EXPECT_LE(times, size >= 53 ? 2U : 5U) << item;
      }
    }
  }
}

TEST(SamplerState, FarMoreRanksThanItems) {
  DistributedRandomSampler many(20, size_t{1} << 40, 3), few(20, 2, 0);
  StateDict state = clone(many.state_dict());
  few.load_state_dict(state);
  EXPECT_EQ(rest(few).size(), 10U) << "none was requested";
  many.next(1);
  few.load_state_dict(clone(many.state_dict()));
  EXPECT_EQ(rest(few).size(), 0U) << "the ranks have requested all";
  state.insert("past", tensor({int64_t{1} << 62, int64_t{0}, int64_t{1}}).view({1, 3}).cpu());
  few.load_state_dict(state);
  EXPECT_EQ(rest(few).size(), 10U);
}

TEST(SamplerState, LoadersResumeWithEverySampler) {
  const datasets::TensorDataset numbers(arange(20, TensorOptions(kLong).device(kCPU)));
  const auto check = [&](const auto& sampler) {
    auto loader = make_data_loader(numbers, sampler, DataLoaderOptions(3).workers(1));
    auto it = loader->begin();
    ++it;
    auto other = make_data_loader(numbers, sampler, 3);
    other->load_state_dict(clone(loader->state_dict()));
    auto at = other->begin();
    for (++it; it != loader->end(); ++it, ++at) {
      ASSERT_NE(at, other->end());
      EXPECT_EQ(integers((*at)[0].data), integers((*it)[0].data));
    }
    EXPECT_EQ(at, other->end());
  };
  check(WeightedRandomSampler(std::vector<double>(20, 1.0), 11));
  check(SubsetRandomSampler({3, 5, 8, 9, 1, 19, 18, 17}));
  check(BatchSampler(RandomSampler(20), 4, true));
  check(DistributedRandomSampler(20, 2, 1));
}

TEST(SamplerErrors, InvalidArgumentsAndStates) {
  const auto load = [](auto sampler, const auto& from) { sampler.load_state_dict(from.state_dict()); };
  const auto load_order = [](auto sampler, std::vector<int64_t> order) {
    sampler.next(1);
    StateDict state = clone(sampler.state_dict());
    state["order"] = tensor(order, TensorOptions(kLong).device(kCPU));
    sampler.load_state_dict(state);
  };
  const auto load_changed = [](const char* key, const Tensor& value) {
    DistributedRandomSampler sampler(20, 2, 0);
    StateDict state = clone(sampler.state_dict());
    if (state.contains(key)) {
      state[key] = value.cpu();
    } else {
      state.insert(key, value.cpu());
    }
    sampler.load_state_dict(state);
  };
  const double nan = std::nan("");
  expect_refused({
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({1.0, nan}, 1), StateError, "weight 1 is nan", "finite"),
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({1.0, -1.0}, 1), StateError, "weight 1 is -1"),
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({0.0, 0.0}, 1), StateError, "none of the 2 weights"),
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({1.0}, 0), StateError, "num_samples is 0"),
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({1.0, 0.0}, 2, false), StateError, "2 samples of 1"),
      BAD_INPUT("WeightedRandomSampler", WeightedRandomSampler({1.0}, 2).reset(3), StateError, "reset to 3", "has 2"),
      BAD_INPUT("BatchSampler", BatchSampler(SequentialSampler(5), 0, false), StateError, "batch_size is 0"),
      BAD_INPUT("DistributedRandomSampler", DistributedRandomSampler(5, 2, 2), StateError, "rank is 2",
                "num_replicas is 2"),
      BAD_INPUT("DistributedSequentialSampler", DistributedSequentialSampler(5, 0, 0), StateError, "num_replicas is 0"),
      BAD_INPUT("load_state_dict", load(DistributedRandomSampler(5, 2, 0), DistributedRandomSampler(6, 2, 0)),
                StateError, "6 items", "this one has 5"),
      BAD_INPUT("load_state_dict", load_changed("num_replicas", tensor(0)), StateError, "'num_replicas' is 0"),
      BAD_INPUT("load_state_dict", load_changed("index", tensor(11)), StateError, "'index' is 11", "10 items"),
      BAD_INPUT("load_state_dict", load_changed("past", tensor({1, 2})), StateError, "'past' is not a matrix"),
      BAD_INPUT("load_state_dict", load_changed("past", tensor({3, 8, 1}).view({1, 3})), StateError, "row 0 of 'past'",
                "division of 20 items", "num_replicas 3, index 8"),
      BAD_INPUT("load_state_dict", load_changed("past", tensor({-1, 8, 1}).view({1, 3})), StateError,
                "num_replicas -1"),
      BAD_INPUT("load_state_dict", load(StreamSampler(3), StreamSampler(4)), StateError, "4 items", "has 3"),
      BAD_INPUT("load_state_dict", load_order(SubsetRandomSampler({3, 5}), {3, 3}), StateError, "'order'",
                "SubsetRandomSampler can draw"),
      BAD_INPUT("load_state_dict", load_order(WeightedRandomSampler({1.0, 1.0}, 2), {0, 2}), StateError, "'order'"),
      BAD_INPUT("load_state_dict", load_order(WeightedRandomSampler({1.0, 1.0}, 2, false), {1, 1}), StateError,
                "'order'"),
  });
}

}  // namespace
}  // namespace tandem::data::samplers
