// Saving the position of samplers and data loaders anywhere in an epoch, with or without workers, and resuming there.
#include <gtest/gtest.h>

#include <map>

#include "data/values.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/data/data_loader.h"
#include "tandem/data/samplers/distributed.h"
#include "tandem/data/transforms.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

using testing::clone;
using testing::difference;
using testing::integers;

/// Item i is the number i.
struct NumberItems : datasets::Dataset<NumberItems, TensorExample> {
  explicit NumberItems(size_t size) : count(size) {}
  TensorExample get(size_t index) override { return tensor(static_cast<int64_t>(index)); }
  std::optional<size_t> size() const override { return count; }
  size_t count;
};

auto make(size_t size, size_t workers, bool drop_last = false, size_t batch_size = 3) {
  return make_data_loader(NumberItems(size).map(transforms::Stack<TensorExample>()),
                          DataLoaderOptions(batch_size).workers(workers).max_jobs(4).drop_last(drop_last));
}

using Batches = std::vector<std::vector<int64_t>>;

template <class Loader>
Batches epoch_of_items(Loader& loader) {
  Batches all;
  for (auto& batch : loader) all.push_back(integers(batch));
  return all;
}

TEST(LoaderState, ResumesAnywhere) {
  for (const bool drop_last : {false, true}) {
    for (const size_t workers : {0, 2}) {
      for (size_t stop = 0; stop <= 4; ++stop) {  // 11 items: 4 batches, or 3
        manual_seed(5);
        auto loader = make(11, workers, drop_last);
        epoch_of_items(*loader);
        StateDict state;
        Generator rng;
        Batches expected;
        size_t seen = 0;
        for (auto& batch : *loader) {
          if (seen >= stop) expected.push_back(integers(batch));
          if (++seen != stop) continue;
          state = clone(loader->state_dict());
          rng.set_state(default_generator().get_state());
        }
        if (state.is_empty()) {  // stop is 0 or past the last batch: save between two epochs
          state = clone(loader->state_dict());
          rng.set_state(default_generator().get_state());
          expected = epoch_of_items(*loader);
        }
        const Batches next = epoch_of_items(*loader);

        manual_seed(77);
        auto resumed = make(11, 2 - workers, drop_last);  // the number of workers may differ
        resumed->load_state_dict(state);
        default_generator().set_state(rng.get_state());
        EXPECT_EQ(epoch_of_items(*resumed), expected) << stop << " " << workers << " " << drop_last;
        EXPECT_EQ(epoch_of_items(*resumed), next) << "and the next epoch is complete";
      }
    }
  }
}

TEST(LoaderState, CanBeSavedAgainAfterResuming) {
  manual_seed(5);
  auto loader = make(20, 0);
  auto it = loader->begin();
  ++it;
  auto second = make(20, 2);
  second->load_state_dict(loader->state_dict());
  auto other = second->begin();
  ++other;
  ++it;
  ++it;
  EXPECT_EQ(difference(second->state_dict(), loader->state_dict()), "");
  EXPECT_EQ(integers(*other), integers(*it));
}

TEST(LoaderState, ContinuesWithAnotherBatchSize) {
  manual_seed(5);
  auto loader = make(20, 2);
  const Batches threes = epoch_of_items(*loader);
  manual_seed(5);
  auto it = loader->begin();
  ++it;
  auto resumed = make(20, 0, false, 4);
  resumed->load_state_dict(clone(loader->state_dict()));
  std::vector<int64_t> expected, actual;
  for (size_t i = 2; i < threes.size(); ++i) expected.insert(expected.end(), threes[i].begin(), threes[i].end());
  for (const auto& batch : epoch_of_items(*resumed)) actual.insert(actual.end(), batch.begin(), batch.end());
  EXPECT_EQ(actual, expected);
}

/// Loaders of all ranks of a distributed sampler.
auto make_ranks(size_t ranks, size_t batch_size) {
  using Loader = decltype(make_data_loader(NumberItems(50).map(transforms::Stack<TensorExample>()),
                                           samplers::DistributedRandomSampler(50), DataLoaderOptions(1)));
  std::vector<Loader> loaders;
  for (size_t rank = 0; rank < ranks; ++rank) {
    loaders.push_back(make_data_loader(NumberItems(50).map(transforms::Stack<TensorExample>()),
                                       samplers::DistributedRandomSampler(50, ranks, rank),
                                       DataLoaderOptions(batch_size).workers(1).max_jobs(3)));
  }
  return loaders;
}

TEST(LoaderState, AnotherNumberOfRanksTakesTheRestOfTheEpoch) {
  std::map<int64_t, int> counts;
  StateDict state;
  const auto run = [&](size_t ranks, size_t batch_size, size_t batches) {
    StateDict after;
    for (auto& loader : make_ranks(ranks, batch_size)) {
      if (!state.is_empty()) loader->load_state_dict(state);
      size_t seen = 0;
      for (auto& batch : *loader) {
        for (const int64_t item : integers(batch)) ++counts[item];
        if (++seen == batches) break;
      }
      if (after.is_empty()) after = clone(loader->state_dict());  // rank 0 saves
    }
    state = after;
  };
  run(2, 4, 3);    // 24 items
  run(4, 2, 1);    // 8
  run(1, 3, 2);    // 6
  run(3, 2, 100);  // the last 12
  EXPECT_EQ(counts.size(), 50U);
  for (const auto& [item, count] : counts) EXPECT_EQ(count, 1) << item;
}

TEST(LoaderState, SamplersResume) {
  samplers::SequentialSampler a(10), b(10);
  a.next(4);
  b.load_state_dict(a.state_dict());
  EXPECT_EQ(*b.next(3), (std::vector<size_t>{4, 5, 6}));
  samplers::RandomSampler c(10), d(10);
  d.load_state_dict(c.state_dict());  // saved before the order is drawn
  c.next(4);
  d.load_state_dict(c.state_dict());
  EXPECT_EQ(*c.next(6), *d.next(6));
}

TEST(LoaderStateErrors, InvalidStateChangesNothing) {
  auto loader = make(10, 0);
  auto it = loader->begin();
  ++it;
  const StateDict good = clone(loader->state_dict());
  const auto refused = [&](const std::function<void(StateDict&)>& change, const std::vector<std::string>& texts) {
    StateDict state = clone(good);
    change(state);
    EXPECT_EQ(testing::mismatch<StateError>([&] { loader->load_state_dict(state); }, texts, "load_state_dict"), "");
    EXPECT_EQ(difference(loader->state_dict(), good), "");
  };
  refused([](StateDict& s) { s.clear(); }, {"missing keys: 'in_epoch'"});
  refused([](StateDict& s) { s["batches"] = tensor(-1); }, {"'batches' is -1"});
  refused([](StateDict& s) { s["sampler.size"] = tensor(11); }, {"11 items, but this one has 10"});
  refused([](StateDict& s) { s["sampler.index"] = tensor(11); }, {"'index' is 11"});
  refused([](StateDict& s) { s["sampler.order"] = zeros({10}, kLong); },
          {"'order'", "not an order that this RandomSampler can draw"});
  refused([](StateDict& s) { s["sampler.order"] = full({10}, 10, kLong); },
          {"'order'", "not an order that this RandomSampler can draw"});
  refused([](StateDict& s) { s["sampler.order"] = ones({9}, kLong); }, {"'order' is [9] i64 in the state"});
  refused([](StateDict& s) { s.insert("more", tensor(1)); }, {"unexpected keys: 'more'"});
  samplers::SequentialSampler sequential(3);
  EXPECT_THROWS(sequential.load_state_dict({}), StateError, "load_state_dict: ", "missing keys: 'size', 'index'");

  auto unordered = make_data_loader(NumberItems(10), DataLoaderOptions(2).workers(2).enforce_ordering(false));
  EXPECT_NO_THROW(unordered->state_dict());
  static_cast<void>(unordered->begin());
  EXPECT_THROWS(unordered->state_dict(), StateError, "DataLoader::state_dict: the order of batches is undefined",
                "between epochs");
}

}  // namespace
}  // namespace tandem::data
