// Learning rate schedules against PyTorch's (tests/golden/schedulers.py).
#include "tandem/optim/lr_scheduler.h"

#include <cmath>
#include <functional>
#include <map>

#include "support/bad_input.h"
#include "support/traces.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace)

/// Makes two groups, with lr 0.1 and 0.02.
SGD make_optimizer() {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()}, std::make_unique<SGDOptions>(0.1));
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()}, std::make_unique<SGDOptions>(0.02));
  return SGD(groups, 1.0);
}

std::shared_ptr<LRScheduler> sequence(Optimizer& o) {
  return std::make_shared<SequentialLR>(
      o,
      std::vector<std::shared_ptr<LRScheduler>>{std::make_shared<LinearLR>(o, 0.1),
                                                std::make_shared<CosineAnnealingLR>(o, 15, 0.001),
                                                std::make_shared<StepLR>(o, 2)},
      std::vector<int64_t>{5, 20});
}

const std::map<std::string, std::function<std::shared_ptr<LRScheduler>(Optimizer&)>>& schedulers() {
  static const std::map<std::string, std::function<std::shared_ptr<LRScheduler>(Optimizer&)>> all = {
      {"step", [](Optimizer& o) { return std::make_shared<StepLR>(o, 7, 0.3); }},
      {"step_each", [](Optimizer& o) { return std::make_shared<StepLR>(o, 1); }},
      {"cosine", [](Optimizer& o) { return std::make_shared<CosineAnnealingLR>(o, 30); }},
      {"cosine_periods", [](Optimizer& o) { return std::make_shared<CosineAnnealingLR>(o, 8, 0.005); }},
      {"linear", [](Optimizer& o) { return std::make_shared<LinearLR>(o); }},
      {"linear_down", [](Optimizer& o) { return std::make_shared<LinearLR>(o, 1.0, 0.1, 20); }},
      {"warmup", [](Optimizer& o) { return std::make_shared<LinearWarmupLR>(o, 25, 5); }},
      {"no_warmup", [](Optimizer& o) { return std::make_shared<LinearWarmupLR>(o, 30); }},
      {"sequence", sequence},
  };
  return all;
}

TEST(LRScheduler, RatesMatchPyTorch) {
  const nlohmann::json golden = read_traces("schedulers").at("rates");
  ASSERT_EQ(golden.size(), schedulers().size());
  for (const auto& [name, make] : schedulers()) {
    SGD sgd = make_optimizer();
    const auto scheduler = make(sgd);
    int64_t epoch = 0;
    for (const auto& expected : golden.at(name)) {
      if (epoch > 0) scheduler->step();
      EXPECT_EQ(scheduler->last_epoch(), epoch);
      const std::vector<double> rates = scheduler->get_last_lr();
      ASSERT_EQ(rates.size(), expected.size());
      for (size_t g = 0; g < rates.size(); ++g) {
        // PyTorch multiplies from rate to rate, so the rounding of each step accumulates.
        EXPECT_NEAR(rates[g], expected[g].get<double>(), 1e-15) << name << ", epoch " << epoch;
      }
      ++epoch;
    }
    EXPECT_EQ(epoch, 31);
  }
}

TEST(LRScheduler, ResumesBitForBit) {
  for (const auto& [name, make] : schedulers()) {
    SGD sgd = make_optimizer();
    const auto scheduler = make(sgd);
    for (int i = 0; i < 9; ++i) scheduler->step();
    const StateDict optimizer_state = sgd.state_dict(), state = scheduler->state_dict();
    // The optimizer's state includes the initial rates: the schedule may be created before or after it is loaded.
    for (const bool loaded_first : {true, false}) {
      SGD other = make_optimizer();
      if (loaded_first) other.load_state_dict(optimizer_state);
      const auto resumed = make(other);
      if (!loaded_first) other.load_state_dict(optimizer_state);
      resumed->load_state_dict(state);
      if (!loaded_first) {
        EXPECT_EQ(resumed->get_last_lr(), scheduler->get_last_lr()) << name;
      }
      SGD reference = make_optimizer();
      const auto uninterrupted = make(reference);
      for (int i = 0; i < 9; ++i) uninterrupted->step();
      for (int i = 0; i < 20; ++i) {
        uninterrupted->step();
        resumed->step();
        EXPECT_EQ(resumed->get_last_lr(), uninterrupted->get_last_lr()) << name;
      }
    }
  }
}

TEST(LRScheduler, GroupAddedLaterStartsFromItsOwnRate) {
  SGD sgd = make_optimizer();
  StepLR scheduler(sgd, 1, 0.5);
  sgd.add_param_group(OptimizerParamGroup({zeros({1}).requires_grad_()}, std::make_unique<SGDOptions>(8)));
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{0.05, 0.01, 4}));
}

TEST(LRSchedulerErrors, Arguments) {
  auto sgd = std::make_shared<SGD>(std::vector<Tensor>{zeros({1}).requires_grad_()}, 0.1);
  auto other = std::make_shared<SGD>(std::vector<Tensor>{zeros({1}).requires_grad_()}, 0.1);
  SGD& o = *sgd;
  using List = std::vector<std::shared_ptr<LRScheduler>>;
  const List two = {std::make_shared<StepLR>(o, 1), std::make_shared<StepLR>(o, 2)};
  const auto refused = [](const std::function<void()>& run, const std::vector<std::string>& texts,
                          const std::string& op) { EXPECT_EQ(mismatch<StateError>(run, texts, op), ""); };
  refused([&] { StepLR(o, 0); }, {"step_size = 0", "at least 1"}, "StepLR");
  refused([&] { StepLR(o, 1, NAN); }, {"gamma = nan"}, "StepLR");
  refused([&] { CosineAnnealingLR(o, 0); }, {"T_max = 0", "at least 1"}, "CosineAnnealingLR");
  refused([&] { CosineAnnealingLR(o, 1, -1); }, {"eta_min = -1"}, "CosineAnnealingLR");
  refused([&] { LinearLR(o, 0); }, {"start_factor = 0", "(0, 1]"}, "LinearLR");
  refused([&] { LinearLR(o, 0.5, 1.5); }, {"end_factor = 1.5", "[0, 1]"}, "LinearLR");
  refused([&] { LinearLR(o, 0.5, 1, 0); }, {"total_iters = 0"}, "LinearLR");
  refused([&] { LinearWarmupLR(o, 5, 5); }, {"warmup_steps = 5 with total_steps = 5"}, "LinearWarmupLR");
  refused([&] { SequentialLR(o, two, {}); }, {"2 schedulers and 0 milestones"}, "SequentialLR");
  refused([&] { SequentialLR(o, {two[0], nullptr}, {1}); }, {"scheduler 1 is null"}, "SequentialLR");
  refused([&] { SequentialLR(*other, two, {1}); }, {"another optimizer"}, "SequentialLR");
  refused([&] { SequentialLR(o, two, {0}); }, {"milestone 0 is 0", "must increase"}, "SequentialLR");
  StepLR scheduler(o, 1);
  refused([&] { scheduler.load_state_dict({}); }, {"missing keys: 'last_epoch'"}, "load_state_dict");
  refused([&] { scheduler.load_state_dict({{"last_epoch", tensor(-1)}}); }, {"'last_epoch' is -1"}, "load_state_dict");
  refused([&] { scheduler.load_state_dict({{"last_epoch", tensor(1.5)}}); }, {"f32", "one integer"}, "load_state_dict");
  EXPECT_EQ(scheduler.last_epoch(), 0);
}

}  // namespace
}  // namespace tandem::testing
