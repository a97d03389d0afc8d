// Datasets of tensors, datasets made of others, streams and datasets with a position of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "data/values.h"
#include "support/bad_input.h"
#include "support/state.h"
#include "tandem/data/data.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

using namespace testing;
using datasets::ConcatDataset;
using datasets::Subset;
using datasets::TensorDataset;
using Indices = std::vector<size_t>;

const TensorOptions kHost = TensorOptions(kLong).device(kCPU);

Tensor numbers(int64_t first, int64_t end) { return arange(first, end, kHost); }

std::vector<int64_t> items(const std::vector<TensorExample>& batch) {
  std::vector<int64_t> all;
  for (const TensorExample& e : batch) all.push_back(e.data.item<int64_t>());
  return all;
}

TEST(TensorDataset, HasTheRowsOfOneTensorOrOfSeveral) {
  TensorDataset rows(numbers(0, 6).view({3, 2}));
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_EQ(integers(rows.get(1)), (std::vector<int64_t>{2, 3}));
  TensorDataset stacked(std::vector<Tensor>{numbers(0, 2), numbers(4, 6)});
  EXPECT_EQ(integers(stacked.tensor), (std::vector<int64_t>{0, 1, 4, 5}));
  auto loader = make_data_loader<samplers::SequentialSampler>(rows.map(transforms::Stack<TensorExample>()), 2);
  std::vector<std::vector<int64_t>> batches;
  for (const TensorExample& batch : *loader) batches.push_back(integers(batch));
  EXPECT_EQ(batches, (std::vector<std::vector<int64_t>>{{0, 1, 2, 3}, {4, 5}}));
}

TEST(ConcatDataset, HasTheItemsOfAll) {
  ConcatDataset<TensorDataset> all(
      {TensorDataset(numbers(0, 3)), TensorDataset(zeros({0}, kHost)), TensorDataset(numbers(10, 12))});
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(items(all.get_batch(Indices{4, 0, 3, 2})), (std::vector<int64_t>{11, 0, 10, 2}));
  EXPECT_EQ(ConcatDataset<TensorDataset>({}).size(), 0U);
}

TEST(Subset, HasTheItemsAtItsIndices) {
  Subset<TensorDataset> some(TensorDataset(numbers(10, 20)), {7, 1, 7});
  EXPECT_EQ(some.size(), 3U);
  EXPECT_EQ(items(some.get_batch(Indices{0, 1, 2})), (std::vector<int64_t>{17, 11, 17}));
}

TEST(RandomSplit, PartsAreDisjointAndSetByTheSeed) {
  const TensorDataset dataset(numbers(0, 10));
  for (const auto& parts : {random_split(dataset, {7, 3}), random_split(dataset, {0.7, 0.3})}) {
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].size(), 7U);
    std::set<size_t> seen;
    for (const auto& part : parts) seen.insert(part.indices().begin(), part.indices().end());
    EXPECT_EQ(seen.size(), 10U);
  }
  const auto one = random_split(dataset, {5, 5}, Generator(3)), same = random_split(dataset, {5, 5}, Generator(3));
  EXPECT_EQ(one[0].indices(), same[0].indices());
  // torch: random_split(range(10), [1/3, 1/3, 1/3]) gives 4, 3 and 3 items.
  const auto thirds = random_split(dataset, {1.0 / 3, 1.0 / 3, 1.0 / 3});
  EXPECT_EQ(*thirds[0].size() * 100 + *thirds[1].size() * 10 + *thirds[2].size(), 433U);
}

TEST(SharedDataset, WorkersUseOneObject) {
  struct Counted : datasets::Dataset<Counted, size_t> {
    std::atomic<int> calls = 0;
    size_t get(size_t i) override { return ++calls, i; }
    std::optional<size_t> size() const override { return 20; }
  };
  auto shared = datasets::make_shared_dataset<Counted>();
  auto loader = make_data_loader(shared, DataLoaderOptions(3).workers(3));
  size_t count = 0;
  for (const auto& batch : *loader) count += batch.size();
  EXPECT_EQ(count, 20U);
  EXPECT_EQ(shared->calls, 20);
}

/// Counts up; each copy has a counter of its own.
struct Endless : datasets::StreamDataset<Endless, std::vector<int>> {
  int next = 0;
  std::vector<int> get_batch(size_t count) override {
    std::vector<int> batch(count);
    for (int& v : batch) v = next++;
    return batch;
  }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(StreamDataset, GivesAsManyItemsAsTheSamplerAsksFor) {
  auto loader = make_data_loader(Endless(), samplers::StreamSampler(5), 2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::vector<int>> batches;
    for (auto& batch : *loader) batches.push_back(batch);
    const int first = 5 * epoch;
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{first, first + 1}, {first + 2, first + 3}, {first + 4}}));
  }
  auto parallel = make_data_loader(Endless(), samplers::StreamSampler(100), DataLoaderOptions(3).workers(2));
  size_t count = 0;
  for (auto& batch : *parallel) count += batch.size();
  EXPECT_EQ(count, 100U);
}

/// The numbers 0 ... count - 1, each plus a random fraction if asked to.
struct Counter : datasets::StatefulDataset<Counter, std::vector<double>> {
  explicit Counter(int64_t count, bool random = false, int64_t fault = -1)
      : count(count), fault(fault), random(random) {}
  void reset() override { at = 0; }
  std::optional<std::vector<double>> get_batch(size_t wanted) override {
    if (at >= count) return std::nullopt;
    std::vector<double> batch;
    for (; batch.size() < wanted && at < count; ++at) {
      if (at == fault) {
        fault = -1;
        throw std::runtime_error("fault");
      }
      batch.push_back(static_cast<double>(at) + (random ? detail::uniform(0, 0.5) : 0));
    }
    return batch;
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(count); }
  bool is_random() const override { return random; }
  StateDict state_dict() const override {
    StateDict state;
    StateWriter writer(state);
    int64_t position = at;
    writer.number("position", position);
    return state;
  }
  StateCommit prepare_load_state_dict(const StateDict& state) override {
    StateReader reader(state);
    int64_t position = 0;
    reader.number("position", position);
    reader.finish();
    return [this, position] { at = position; };
  }
  int64_t count, fault, at = 0;
  bool random;
};

template <class Loader>
auto epoch_of_batches(Loader& loader) {
  std::vector<typename Loader::BatchType> all;
  for (auto& batch : loader) all.push_back(batch);
  return all;
}

TEST(StatefulDataLoader, RunsToTheEndOfTheStream) {
  for (size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader(Counter(5), DataLoaderOptions(2).workers(workers));
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(epoch_of_batches(*loader), (std::vector<std::vector<double>>{{0, 1}, {2, 3}, {4}}));
    }
    auto dropping = make_data_loader(Counter(5), DataLoaderOptions(2).workers(workers).drop_last(true));
    EXPECT_EQ(epoch_of_batches(*dropping), (std::vector<std::vector<double>>{{0, 1}, {2, 3}}));
    for (int run = 0; run < 20; ++run) {  // left early
      for (auto& batch : *loader) {
        EXPECT_EQ(batch[0], 0);
        break;
      }
    }
    auto mapped = make_data_loader(Counter(3).map([](double v) { return 2 * v; }).map([](std::vector<double> batch) {
      return tensor(batch, TensorOptions(kDouble).device(kCPU));
    }),
                                   DataLoaderOptions(2).workers(workers));
    EXPECT_EQ(epoch_of_batches(*mapped)[1].item<double>(), 4);
  }
}

TEST(StatefulDataLoader, ResumesAnywhere) {
  for (size_t workers : {0, 1}) {
    for (size_t stop = 1; stop <= 4; ++stop) {  // 7 items: 4 batches
      manual_seed(3);
      auto loader = make_data_loader(Counter(7, true), DataLoaderOptions(2).workers(workers));
      StateDict state;
      Generator rng;
      std::vector<std::vector<double>> expected;
      size_t seen = 0;
      for (auto& batch : *loader) {
        if (seen >= stop) expected.push_back(batch);
        if (++seen != stop) continue;
        state = clone(loader->state_dict());
        rng.set_state(default_generator().get_state());
      }
      const auto next = epoch_of_batches(*loader);
      EXPECT_NE(next.back(), std::vector<double>{6}) << "the items have random parts";
      manual_seed(8);
      auto resumed = make_data_loader(Counter(7, true), DataLoaderOptions(2).workers(1 - workers));
      resumed->load_state_dict(state);
      default_generator().set_state(rng.get_state());
      EXPECT_EQ(epoch_of_batches(*resumed), expected) << stop;
      EXPECT_EQ(epoch_of_batches(*resumed), next) << stop;
    }
  }
}

TEST(StatefulDataLoader, ContinuesAfterAnException) {
  for (size_t workers : {0, 1}) {
    auto loader = make_data_loader(Counter(6, false, 3), DataLoaderOptions(2).workers(workers).max_jobs(1));
    auto it = loader->begin();
    EXPECT_THROW(++it, std::runtime_error);
    EXPECT_NO_THROW(loader->state_dict());
    ++it;
    EXPECT_EQ(*it, (std::vector<double>{3, 4}));
  }
}

TEST(StatefulDataLoader, InvalidStateChangesNothing) {
  auto loader = make_data_loader(Counter(6, true), DataLoaderOptions(2));
  auto it = loader->begin();
  const StateDict good = clone(loader->state_dict());
  StateDict other = clone(good), unseeded;
  other.insert("dataset.more", tensor(1, kHost));
  for (const auto& item : good) {
    if (item.key() != "seed") unseeded.insert(item.key(), item.value());
  }
  EXPECT_THROWS(loader->load_state_dict(other), StateError, "unexpected keys", "'more'");
  EXPECT_THROWS(loader->load_state_dict(unseeded), StateError, "missing keys: 'seed'");
  EXPECT_EQ(difference(loader->state_dict(), good), "");
  ++it;
  EXPECT_EQ(static_cast<int>((*it)[0]), 2);
}

TEST(DataErrors, DatasetsOfTensorsAndParts) {
  const TensorDataset ten(numbers(0, 10));
  const auto concat = [&](Indices at) { return ConcatDataset<TensorDataset>({ten}).get_batch(at); };
  expect_refused({
      BAD_INPUT("TensorDataset", TensorDataset(Tensor()), StateError, "undefined tensor"),
      BAD_INPUT("TensorDataset", TensorDataset(scalar_tensor(1)), ShapeError, "[]", "first dimension"),
      BAD_INPUT("TensorDataset", TensorDataset(std::vector<Tensor>{}), StateError, "empty"),
      BAD_INPUT("TensorDataset", TensorDataset(ten).get(10), IndexError, "index 10", "10 items"),
      BAD_INPUT("ConcatDataset", concat({10}), IndexError, "index 10", "10 items"),
      BAD_INPUT("ConcatDataset", ConcatDataset<Sizeless>({Sizeless()}), StateError, "no size"),
      BAD_INPUT("Subset", Subset<TensorDataset>(ten, Indices{1, 10}), IndexError, "index 10", "10 items"),
      BAD_INPUT("Subset", Subset<TensorDataset>(ten, Indices{1}).get_batch(Indices{1}), IndexError, "index 1 ",
                "1 items"),
      BAD_INPUT("random_split", random_split(ten, {5, 4}), StateError, "add up to 9", "10 items"),
      BAD_INPUT("random_split", random_split(ten, {0.5, 0.6}), StateError, "add up to 1.1", "whole numbers"),
      BAD_INPUT("random_split", random_split(ten, {-1, 11}), StateError, "a length is -1", "at least 0"),
      BAD_INPUT("random_split", random_split(Sizeless(), {1}), StateError, "no size"),
  });
}

}  // namespace
}  // namespace tandem::data
