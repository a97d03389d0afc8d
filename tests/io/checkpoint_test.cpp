// Checkpoint, save and load: supported parts, errors, and runs that switch between AMP and f32.
#include "tandem/io/checkpoint.h"

#include <gtest/gtest.h>

#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/io/serialize.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

/// A user-defined type.
struct Average {
  Tensor value = zeros({2});
  StateDict state_dict() const { return {{"value", value}}; }
  void load_state_dict(const StateDict& state) { value = state["value"].clone(); }
};

struct AveragedRun {
  explicit AveragedRun(bool amp = true) : scaler(amp::GradScalerOptions().enabled(amp).init_scale(1024)) {
    checkpoint.add("model", model)
        .add("sgd", sgd)
        .add("schedule", schedule)
        .add("scaler", scaler)
        .add("rng", rng)
        .add("average", average)
        .add("table", table)
        .add("epoch", epoch)
        .add("step", step)
        .add("best", best)
        .add("done", done);
  }
  nn::Linear model{2, 3};
  optim::SGD sgd{model->parameters(), optim::SGDOptions(0.1).momentum(0.9)};
  optim::StepLR schedule{sgd, 2};
  amp::GradScaler scaler;
  Generator rng{3};
  Average average;
  Tensor table = zeros({3});
  int64_t epoch = 0;
  unsigned step = 0;
  double best = 0;
  bool done = false;
  io::Checkpoint checkpoint;
};

void advance(AveragedRun& run) {
  const Tensor loss = run.model(randn({4, 2}, run.rng)).square().mean();
  run.sgd.zero_grad();
  run.scaler.scale(loss).backward();
  run.scaler.step(run.sgd);
  run.scaler.update();
  run.schedule.step();
  run.average.value.add_(1);
  run.table.add_(2);
  ++run.epoch;
  run.step += 10;
  run.best += 0.1;
  run.done = !run.done;
}

TEST(Checkpoint, SavesAndLoadsEveryPart) {
  const TemporaryFolder folder;
  AveragedRun a;
  for (int i = 0; i < 3; ++i) advance(a);
  a.checkpoint.save(folder.path("a"), {{"note", "third"}});
  EXPECT_EQ(io::load_file(folder.path("a")).metadata, (io::Metadata{{"note", "third"}}));
  AveragedRun b;
  const IncompatibleKeys keys = b.checkpoint.load(folder.path("a"));
  EXPECT_TRUE(keys.missing_keys.empty() && keys.unexpected_keys.empty());
  EXPECT_EQ(difference(a.checkpoint.state_dict(), b.checkpoint.state_dict()), "");
  EXPECT_EQ(b.epoch, 3);
  EXPECT_EQ(b.step, 30u);
  EXPECT_EQ(b.best, a.best);
  EXPECT_TRUE(b.done);
  EXPECT_EQ(b.rng.current_seed(), 3u);
  advance(a);
  advance(b);
  EXPECT_EQ(difference(a.checkpoint.state_dict(), b.checkpoint.state_dict()), "");
}

TEST(Checkpoint, KeepsNumbersOfAllBits) {
  const TemporaryFolder folder;
  uint64_t seed = 0x9e3779b97f4a7c15;
  int64_t least = std::numeric_limits<int64_t>::min();
  io::Checkpoint checkpoint;
  checkpoint.add("seed", seed).add("least", least);
  checkpoint.save(folder.path("a"));
  seed = 0;
  least = 0;
  checkpoint.load(folder.path("a"));
  EXPECT_EQ(seed, 0x9e3779b97f4a7c15);
  EXPECT_EQ(least, std::numeric_limits<int64_t>::min());
}

TEST(CheckpointErrors, PartsWithSharedElementsAreNamedBeforeAnyIsLoaded) {
  const Tensor source = arange(3, kFloat);
  int64_t epoch = 1;
  Tensor expanded = zeros({1}).expand({3});
  io::Checkpoint checkpoint;
  checkpoint.add("epoch", epoch).add("table", expanded);
  const StateDict state{{"epoch", tensor(7, kLong)}, {"table", source}};
  EXPECT_THROWS(checkpoint.load_state_dict(state), StateError, "load_state_dict: ", "table", "[3] f32", "clone()");
  EXPECT_EQ(epoch, 1);
}

TEST(Checkpoint, RunsMaySwitchBetweenAmpAndF32) {
  AveragedRun amp(true), plain(false);
  advance(amp);
  amp.scaler.update(512.0);
  const StateDict with = clone(amp.checkpoint.state_dict());
  advance(plain);
  const StateDict without = clone(plain.checkpoint.state_dict());
  EXPECT_TRUE(with.contains("scaler.scale"));
  EXPECT_FALSE(without.contains("scaler.scale"));

  // A disabled scaler accepts any state.
  EXPECT_TRUE(plain.checkpoint.load_state_dict(with).missing_keys.empty());
  EXPECT_EQ(plain.scaler.get_scale(), 1);
  advance(plain);
  // A run without a scaler ignores the scaler's part.
  nn::Linear model(2, 3);
  io::Checkpoint only_model;
  only_model.add("model", model);
  EXPECT_EQ(only_model.load_state_dict(with).unexpected_keys.size(), 10u);
  EXPECT_EQ(difference(model->weight, amp.model->weight), "");
  // If the file has no scaler, the scaler is unchanged.
  EXPECT_EQ(amp.checkpoint.load_state_dict(without).missing_keys, std::vector<std::string>{"scaler"});
  EXPECT_EQ(amp.scaler.get_scale(), 512);
  advance(amp);
}

TEST(CheckpointErrors, InvalidPartChangesNothing) {
  AveragedRun a, b;
  advance(a);
  advance(b);
  const StateDict good = clone(a.checkpoint.state_dict()), before = clone(b.checkpoint.state_dict());
  // Several parts are wrong, including the last: all are named, and the parts that would fit are unchanged.
  StateDict state = clone(good);
  state["done"] = tensor(1.5);
  state["model.weight"] = ones({3, 3});
  state.erase("rng.seed");
  state["scaler.scale"] = tensor(-1.0);
  state["table"] = ones({4});
  state.erase("best");
  EXPECT_THROWS(b.checkpoint.load_state_dict(state), StateError, "load_state_dict: nothing was loaded",
                "\n  model: load_state_dict: the state does not fit: 'weight' is [3, 3] f32",
                "\n  rng: ", "missing keys: 'seed'", "\n  scaler: load_state_dict: scale must be",
                "\n  table: ", "\n  best: the state has no part with this name", "\n  done: ", "one bool");
  EXPECT_EQ(difference(b.checkpoint.state_dict(), before), "");
  state = clone(good);
  state["step"] = tensor(int64_t{-1});
  EXPECT_THROWS(b.checkpoint.load_state_dict(state), StateError, "\n  step: ", "-1 is outside the range");
  state["scaler.scale"] = ones({2});
  EXPECT_THROWS(b.checkpoint.load_state_dict(state), StateError, "'scale' is not a number");
  EXPECT_EQ(difference(b.checkpoint.state_dict(), before), "");
}

/// A user-defined type whose functions fail in an op.
struct Faulty {
  StateDict state_dict() const { return {{"value", softmax(zeros({2}), 5)}}; }
  void load_state_dict(const StateDict& state) { softmax(state["value"], 5); }
};

TEST(CheckpointErrors, CodeOfTheUserIsNotNamedAfterItsCaller) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  Faulty faulty;
  io::Checkpoint run;
  run.add("faulty", faulty);
  EXPECT_EQ(mismatch<IndexError>([&] { run.save(path); }, {"dimension 5"}, "softmax"), "");
  EXPECT_EQ(mismatch<IndexError>([&] { save(faulty, path); }, {"dimension 5"}, "softmax"), "");
  const StateDict state{{"faulty.value", zeros({2})}};
  io::save_file(state, path);
  EXPECT_EQ(mismatch<IndexError>([&] { run.load(path); }, {"dimension 5"}, "softmax"), "");
  EXPECT_EQ(mismatch<IndexError>([&] { run.load_state_dict(state); }, {"dimension 5"}, "softmax"), "");
  io::save_file({{"value", zeros({2})}}, path);
  EXPECT_EQ(mismatch<IndexError>([&] { load(faulty, path); }, {"dimension 5"}, "softmax"), "");
}

TEST(CheckpointErrors, BeginWithTheFunctionThatWasCalled) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a"), missing = "load: " + path + ": cannot open the file";
  Tensor none;
  nn::Linear model(2, 3);
  io::Checkpoint run;
  run.add("model", model);
  EXPECT_EQ(mismatch<StateError>([&] { save(none, path); }, {"save: '0' is an undefined tensor"}, "save"), "");
  EXPECT_EQ(mismatch<IoError>([&] { load(none, path); }, {missing}, "load"), "");
  EXPECT_EQ(mismatch<IoError>([&] { load(model, path); }, {missing}, "load"), "");
  EXPECT_EQ(mismatch<IoError>([&] { run.load(path); }, {missing}, "load"), "");
  const std::string is_folder = "save: " + folder.path() + ": is a folder";
  EXPECT_EQ(mismatch<IoError>([&] { run.save(folder.path()); }, {is_folder}, "save"), "");
  EXPECT_EQ(mismatch<IoError>([&] { save(model, folder.path()); }, {is_folder}, "save"), "");
  io::save_file({{"model.weight", ones({3, 3})}}, path);
  const std::string nothing = "load: " + path + ": nothing was loaded";
  EXPECT_THROWS(run.load(path), StateError, nothing, "\n  model: load_state_dict: the state does not fit");
}

TEST(CheckpointErrors, Names) {
  AveragedRun a;
  double x = 0;
  Tensor none;
  EXPECT_THROWS(a.checkpoint.add("", x), StateError, "Checkpoint::add: ''");
  EXPECT_THROWS(a.checkpoint.add("a.b", x), StateError, "Checkpoint::add: 'a.b'", "without dots");
  EXPECT_THROWS(a.checkpoint.add("epoch", x), StateError, "already a part 'epoch'");
  EXPECT_THROWS(a.checkpoint.add("none", none), StateError, "'none' is an undefined tensor");
  EXPECT_THROWS(a.checkpoint.load("/no/such/file"), IoError, "load: /no/such/file", "No such file");
}

TEST(SaveAndLoad, MatchLibtorch) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  const Tensor x = randn({3, 4});
  Tensor y;
  save(x, path);
  load(y, path);
  EXPECT_EQ(difference(x, y), "");
  std::vector<Tensor> list;
  save({x, ones({2}, kLong)}, path);
  load(list, path);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(difference(list[1], ones({2}, kLong)), "");
  EXPECT_THROWS(load(y, path), StateError, "load: ", "has 2 tensors, not one");

  nn::Sequential a(nn::Linear(3, 4), nn::BatchNorm1d(4)), b(nn::Linear(3, 4), nn::BatchNorm1d(4));
  save(a, path);
  load(b, path);
  EXPECT_EQ(difference(a->state_dict(), b->state_dict()), "");
  EXPECT_THROWS(load(list, path), StateError, "load: ", "'0.weight'", "not a vector of tensors");
  auto shared = std::make_shared<nn::LinearImpl>(nn::LinearOptions(3, 4));
  EXPECT_THROWS(load(shared, path), StateError, "missing keys: 'weight', 'bias'");
  optim::Adam adam(a->parameters(), 0.5), other(b->parameters(), 0.1);
  save(adam, path);
  load(other, path);
  EXPECT_EQ(difference(adam.state_dict(), other.state_dict()), "");
}

}  // namespace
}  // namespace tandem::testing
