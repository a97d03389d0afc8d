// States of PyTorch's schedules after six steps (tests/golden/torch_files.py).
#include "io/torch_files.h"
#include "optim/schedules.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/io/pickle.h"

namespace tandem::testing {
namespace {

/// Loads a run of PyTorch, checks that its entries are written again, and compares the following rates.
void expect_continued(const std::string& name, SGD& sgd, LRScheduler& schedule) {
  static const StateDict runs = io::load_pt(torch_file("schedules.pt"));
  static const nlohmann::json rates = read_traces("schedulers").at("rates");
  const StateDict optimizer = state_below(runs, name + ".optimizer"), own = state_below(runs, name + ".schedule");
  ASSERT_GT(own.size(), 4U) << name;
  sgd.load_state_dict(optimizer);
  schedule.load_state_dict(own);
  const StateDict sgd_now = sgd.state_dict(), now = schedule.state_dict();
  for (const auto& item : optimizer) EXPECT_TRUE(sgd_now.contains(item.key())) << item.key();
  for (const auto& item : own) EXPECT_EQ(difference(now[item.key()], item.value()), "") << name << " " << item.key();
  for (size_t epoch = 6; epoch < rates.at(name).size(); ++epoch) {
    if (epoch > 6) schedule.step();
    expect_values(schedule.get_last_lr(), rates.at(name)[epoch], name + ", epoch " + std::to_string(epoch));
  }
}

TEST(LRScheduler, RunsOfPyTorchContinue) {
  for (const auto& [name, make] : schedulers()) {
    SGD sgd = make_optimizer();
    expect_continued(name, sgd, *make(sgd));
  }
}

TEST(LRScheduler, ArgumentsInStatesOfPyTorchCount) {
  using Make = std::function<Made(Optimizer&)>;
  const auto other_sequence = [](Optimizer& o) {
    return std::make_shared<SequentialLR>(
        o,
        std::vector<Made>{std::make_shared<LinearLR>(o), std::make_shared<CosineAnnealingLR>(o, 3),
                          std::make_shared<StepLR>(o, 9, 0.5)},
        std::vector<int64_t>{1, 2});
  };
  const std::pair<std::string, Make> others[] = {
      {"step", [](Optimizer& o) { return std::make_shared<StepLR>(o, 2, 0.9); }},
      {"cosine_periods", [](Optimizer& o) { return std::make_shared<CosineAnnealingLR>(o, 3); }},
      {"linear_down", [](Optimizer& o) { return std::make_shared<LinearLR>(o); }},
      {"multi_step", [](Optimizer& o) { return std::make_shared<MultiStepLR>(o, std::vector<int64_t>{2}); }},
      {"exponential", [](Optimizer& o) { return std::make_shared<ExponentialLR>(o, 0.5); }},
      {"constant_long", [](Optimizer& o) { return std::make_shared<ConstantLR>(o); }},
      {"polynomial_square", [](Optimizer& o) { return std::make_shared<PolynomialLR>(o); }},
      {"restarts_longer", [](Optimizer& o) { return std::make_shared<CosineAnnealingWarmRestarts>(o, 2); }},
      {"chained",
       [](Optimizer& o) {
         return chained({std::make_shared<ConstantLR>(o, 0.5, 1), std::make_shared<ExponentialLR>(o, 0.8)});
       }},
      {"sequence", other_sequence}};
  for (const auto& [name, make] : others) {
    SGD sgd = make_optimizer();
    expect_continued(name, sgd, *make(sgd));
  }
}

TEST(LRSchedulerErrors, ArgumentsInStates) {
  SGD sgd = make_optimizer();
  StepLR step(sgd, 3);
  const auto refused = [&](LRScheduler& schedule, StateDict state, const char* text) {
    state.insert("last_epoch", tensor(2));
    EXPECT_THROWS(schedule.load_state_dict(state), StateError, text);
    EXPECT_EQ(schedule.last_epoch(), 0);
  };
  refused(step, {{"step_size", tensor(0)}}, "step_size = 0; it must be at least 1");
  refused(step, {{"step_size", tensor(1.5)}}, "'step_size' is 1.5; it must be an integer");
  refused(step, {{"gamma", tensor(true)}}, "'gamma' is [] bool; it must be one number");
  MultiStepLR multi_step(sgd, {3});
  refused(multi_step, {{"milestones.x", tensor(1)}}, "'milestones.x' is not the count of a milestone");
  refused(multi_step, {{"milestones.3", tensor(int64_t{1} << 40)}}, "'milestones.3' is not the count of a milestone");
  OneCycleLR cycle(sgd, OneCycleLROptions(0.5, 30));
  refused(cycle, {{"total_steps", tensor(20)}}, "'total_steps' is 20, but 30 here");
  EXPECT_EQ(step.lr_at(1, 3), 0.1);
}

TEST(ReduceLROnPlateauScheduler, RunsOfPyTorchContinue) {
  const nlohmann::json golden = read_traces("schedulers");
  const StateDict runs = io::load_pt(torch_file("schedules.pt"));
  using Scheduler = ReduceLROnPlateauScheduler;
  // The modes must be equal; the other arguments are in the state.
  const std::map<std::string, std::pair<Scheduler::SchedulerMode, Scheduler::ThresholdMode>> modes = {
      {"defaults", {Scheduler::min, Scheduler::rel}},
      {"patient", {Scheduler::min, Scheduler::rel}},
      {"max", {Scheduler::max, Scheduler::abs}},
      {"abs", {Scheduler::min, Scheduler::abs}}};
  for (const auto& [name, expected] : golden.at("plateaus").items()) {
    SGD sgd = make_optimizer();
    const auto [mode, threshold_mode] = modes.at(name);
    Scheduler schedule(sgd, mode, 0.7, 3, 0.5, threshold_mode);
    sgd.load_state_dict(state_below(runs, "plateau_" + name + ".optimizer"));
    const StateDict own = state_below(runs, "plateau_" + name + ".schedule");
    schedule.load_state_dict(own);
    Scheduler other(sgd, mode == Scheduler::min ? Scheduler::max : Scheduler::min, 0.7, 3, 0.5, threshold_mode);
    EXPECT_THROWS(other.load_state_dict(own), StateError, "'mode' is not", "construct the schedule as the saved one");
    for (const auto& item : own) EXPECT_TRUE(schedule.state_dict().contains(item.key())) << item.key();
    for (size_t epoch = 6; epoch < expected.size(); ++epoch) {
      schedule.step(golden.at("metrics")[epoch].get<double>());
      expect_values(schedule.get_last_lr(), expected[epoch], name);
    }
  }
}

}  // namespace
}  // namespace tandem::testing
