// Learning rate schedules against PyTorch's (tests/golden/schedulers.py).
#include "tandem/optim/lr_scheduler.h"

#include <cmath>
#include <functional>
#include <map>

#include "optim/schedules.h"
#include "support/bad_input.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

std::vector<double> momenta_of(const SGD& sgd) {
  std::vector<double> all;
  for (const auto& group : sgd.param_groups())
    all.push_back(static_cast<const SGDOptions&>(group.options()).momentum());
  return all;
}

TEST(LRScheduler, RatesAndMomentaMatchPyTorch) {
  const nlohmann::json golden = read_traces("schedulers"), rates = golden.at("rates"), momenta = golden.at("momenta");
  ASSERT_EQ(rates.size(), schedulers().size());
  for (const auto& [name, make] : schedulers()) {
    SGD sgd = make_optimizer();
    const auto scheduler = make(sgd);
    size_t epoch = 0;
    for (const auto& expected : rates.at(name)) {
      if (epoch > 0) scheduler->step();
      const std::string what = name + ", epoch " + std::to_string(epoch);
      EXPECT_EQ(scheduler->last_epoch(), static_cast<int64_t>(epoch));
      expect_values(scheduler->get_last_lr(), expected, what);
      expect_values(momenta_of(sgd), momenta.contains(name) ? momenta.at(name)[epoch] : nlohmann::json({0.9, 0.9}),
                    what);
      ++epoch;
    }
    EXPECT_EQ(epoch, 31U);
  }
}

TEST(OneCycleLR, CyclesBetas) {
  Adam adam({zeros({1}).requires_grad_()});
  OneCycleLR scheduler(adam, OneCycleLROptions(0.5, 30));
  const nlohmann::json momenta = read_traces("schedulers").at("momenta").at("adam");
  for (size_t epoch = 0; epoch < momenta.size(); ++epoch) {
    if (epoch > 0) scheduler.step();
    const auto& betas = static_cast<const AdamOptions&>(adam.param_groups()[0].options()).betas();
    EXPECT_NEAR(std::get<0>(betas), momenta[epoch][0].get<double>(), 2e-15);
    EXPECT_EQ(std::get<1>(betas), 0.999);
  }
  EXPECT_THROWS(scheduler.step(), StateError, "step 31 of 30", "total_steps");
  EXPECT_EQ(scheduler.last_epoch(), 30);
}

TEST(CosineAnnealingWarmRestarts, FractionalEpochsMatchPyTorch) {
  SGD sgd = make_optimizer();
  CosineAnnealingWarmRestarts scheduler(sgd, 3, 2);
  const nlohmann::json golden = read_traces("schedulers").at("fractional");
  ASSERT_EQ(golden.size(), 8U);
  for (const auto& expected : golden) {
    const double epoch = expected[0];
    scheduler.step(epoch);
    expect_values(scheduler.get_last_lr(), expected[1], std::to_string(epoch));
    EXPECT_EQ(scheduler.last_epoch(), static_cast<int64_t>(epoch));
  }
  const double before = scheduler.lr_at(0.1, 5);
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr()[0], before);
}

TEST(SWALR, BeginsFromTheRatesOfAnotherSchedule) {
  SGD sgd = make_optimizer();
  ExponentialLR first(sgd, 0.8);
  SWALR swa(sgd, 0.05, 4);
  const nlohmann::json golden = read_traces("schedulers").at("swa_after_another");
  ASSERT_EQ(golden.size(), 12U);
  int epoch = 0;
  for (const auto& expected : golden) {
    if (epoch++ < 5) {
      first.step();
    } else {
      swa.step();
    }
    expect_values(swa.get_last_lr(), expected, std::to_string(epoch));
  }
}

TEST(MultiplicativeLR, CallsTheFunctionOncePerEpoch) {
  SGD sgd = make_optimizer();
  std::vector<int64_t> epochs;
  MultiplicativeLR scheduler(sgd, [&](int64_t epoch) {
    epochs.push_back(epoch);
    return 0.5;
  });
  for (int i = 0; i < 3; ++i) scheduler.step();
  EXPECT_EQ(epochs, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(scheduler.lr_at(1, 1), 0.5) << "an earlier epoch";
  EXPECT_EQ(scheduler.lr_at(1, 4), 0.0625);
}

TEST(LRScheduler, FailedStepChangesNothing) {
  SGD sgd = make_optimizer();
  LambdaLR scheduler(sgd, {[](int64_t) { return 0.5; },
                           [](int64_t epoch) {
                             if (epoch > 0) throw std::runtime_error("no factor");
                             return 0.5;
                           }});
  const auto before = scheduler.get_last_lr();
  EXPECT_ANY_THROW(scheduler.step());
  EXPECT_EQ(scheduler.get_last_lr(), before);
  EXPECT_EQ(scheduler.last_epoch(), 0);
}

void expect_rates(const SGD& sgd, const nlohmann::json& rates, const std::string& where) {
  ASSERT_EQ(sgd.param_groups().size(), rates.size()) << where;
  for (size_t g = 0; g < rates.size(); ++g) {
    const double expected = rates[g].get<double>();
    EXPECT_NEAR(sgd.param_groups()[g].options().get_lr(), expected, 1e-12 * expected) << where << ", group " << g;
  }
}

TEST(LRScheduler, SchedulesOfOneOptimizerMultiply) {
  using List = std::vector<Made>;
  const std::map<std::string, std::function<List(Optimizer&)>> all = {
      {"two",
       [](Optimizer& o) {
         return List{std::make_shared<ExponentialLR>(o, 0.9),
                     std::make_shared<MultiStepLR>(o, std::vector<int64_t>{3, 11}, 0.1)};
       }},
      {"warm_up",
       [](Optimizer& o) {
         return List{std::make_shared<LinearLR>(o, 0.1, 1.0, 6), std::make_shared<StepLR>(o, 5, 0.5)};
       }},
      {"cosine",
       [](Optimizer& o) {
         return List{std::make_shared<ConstantLR>(o, 0.2, 4), std::make_shared<CosineAnnealingLR>(o, 35, 0.001)};
       }},
      {"polynomial",
       [](Optimizer& o) {
         return List{std::make_shared<PolynomialLR>(o, 40, 2.0), multiplicative(o)};
       }},
  };
  const auto golden = read_traces("schedulers").at("together");
  ASSERT_EQ(golden.size(), all.size());
  for (const auto& [name, make] : all) {
    SGD sgd = make_optimizer();
    const List schedulers = make(sgd);
    for (const auto& rates : golden.at(name)) {
      expect_rates(sgd, rates, name);
      for (const auto& scheduler : schedulers) scheduler->step();
    }
  }
}

TEST(LRScheduler, KeepsReductionsAndRatesOfTheProgram) {
  SGD sgd = make_optimizer();
  LinearLR warm_up(sgd, 0.1, 1.0, 8);
  ReduceLROnPlateau reduce(sgd, ReduceLROnPlateau::min, 0.5, 2);
  int step = 0;
  const nlohmann::json golden = read_traces("schedulers").at("beside_plateau");
  for (const auto& rates : golden) {
    if (step++ == 10) sgd.param_groups()[0].options().set_lr(0.7);
    warm_up.step();
    reduce.step(1.0);
    expect_rates(sgd, rates, std::to_string(step));
  }
}

TEST(LRScheduler, KeepsRatesAfterReachingZero) {
  SGD sgd = make_optimizer();
  PolynomialLR schedule(sgd, 3);
  const nlohmann::json golden = read_traces("schedulers").at("after_zero");
  for (size_t step = 0; step < golden.size(); ++step) {
    if (step == 4) sgd.param_groups()[0].options().set_lr(0.5);
    schedule.step();
    expect_rates(sgd, golden[step], std::to_string(step));
  }
}

TEST(LRScheduler, GroupsAddedLaterMatchPyTorch) {
  const nlohmann::json golden = read_traces("schedulers").at("added_group");
  for (const auto& [name, rates] : golden.items()) {
    SGD sgd = make_optimizer();
    const Made schedule = schedulers().at(name)(sgd);
    for (size_t step = 0; step < rates.size(); ++step) {
      if (step == 5) {
        sgd.add_param_group(OptimizerParamGroup({zeros({1}).requires_grad_()}, std::make_unique<SGDOptions>(0.5)));
      }
      schedule->step();
      expect_rates(sgd, rates[step], name + " " + std::to_string(step));
    }
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
      EXPECT_EQ(resumed->get_last_lr(), scheduler->get_last_lr()) << name;
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
  refused([&] { MultiStepLR(o, {1}, -1); }, {"gamma = -1"}, "MultiStepLR");
  refused([&] { ExponentialLR(o, NAN); }, {"gamma = nan"}, "ExponentialLR");
  refused([&] { ConstantLR(o, 1.5); }, {"factor = 1.5", "[0, 1]"}, "ConstantLR");
  refused([&] { ConstantLR(o, 0.5, -1); }, {"total_iters = -1"}, "ConstantLR");
  refused([&] { PolynomialLR(o, 0); }, {"total_iters = 0"}, "PolynomialLR");
  refused([&] { PolynomialLR(o, 1, -1); }, {"power = -1"}, "PolynomialLR");
  refused([&] { CosineAnnealingWarmRestarts(o, 0); }, {"T_0 = 0"}, "CosineAnnealingWarmRestarts");
  refused([&] { CosineAnnealingWarmRestarts(o, 1, 0); }, {"T_mult = 0"}, "CosineAnnealingWarmRestarts");
  refused([&] { CosineAnnealingWarmRestarts(o, 1, 1, -1); }, {"eta_min = -1"}, "CosineAnnealingWarmRestarts");
  refused([&] { CosineAnnealingWarmRestarts(o, 1).step(-0.5); }, {"epoch = -0.5"}, "CosineAnnealingWarmRestarts");
  refused([&] { CosineAnnealingWarmRestarts(o, 1).step(NAN); }, {"epoch = nan"}, "CosineAnnealingWarmRestarts");
  refused([&] { ChainedScheduler({}); }, {"empty"}, "ChainedScheduler");
  refused([&] { ChainedScheduler({two[0], nullptr}); }, {"scheduler 1 is null"}, "ChainedScheduler");
  refused(
      [&] {
        ChainedScheduler({two[0], std::make_shared<StepLR>(*other, 1)});
      },
      {"another optimizer"}, "ChainedScheduler");
  const LambdaLR::Function none;
  refused([&] { LambdaLR(o, none); }, {"empty"}, "LambdaLR");
  refused([&] { LambdaLR(o, std::vector<LambdaLR::Function>(2)); }, {"2 functions for 1 parameter groups"}, "LambdaLR");
  refused([&] { MultiplicativeLR(o, none); }, {"empty"}, "MultiplicativeLR");
  refused([&] { MultiplicativeLR(o, {none}); }, {"empty"}, "MultiplicativeLR");
  refused([&] { OneCycleLR(o, {0.1, 0}); }, {"total_steps = 0"}, "OneCycleLR");
  refused([&] { OneCycleLR(o, {{0.1, 0.2}, 5}); }, {"max_lr has 2 values for 1 parameter groups"}, "OneCycleLR");
  refused([&] { OneCycleLR(o, OneCycleLROptions(-1, 5)); }, {"max_lr = -1"}, "OneCycleLR");
  refused([&] { OneCycleLR(o, OneCycleLROptions(1, 5).pct_start(2)); }, {"pct_start = 2"}, "OneCycleLR");
  refused([&] { OneCycleLR(o, OneCycleLROptions(1, 5).div_factor(0)); }, {"div_factor = 0"}, "OneCycleLR");
  refused([&] { OneCycleLR(o, OneCycleLROptions(1, 5).final_div_factor(NAN)); }, {"final_div_factor = nan"},
          "OneCycleLR");
  refused([&] { OneCycleLR(o, OneCycleLROptions(1, 5).base_momentum(-1)); }, {"base_momentum = -1"}, "OneCycleLR");
  Adagrad adagrad({zeros({1}).requires_grad_()});
  refused(
      [&] {
        OneCycleLR(adagrad, {0.1, 5});
      },
      {"neither momentum nor betas", "cycle_momentum(false)"}, "OneCycleLR");
  EXPECT_NO_THROW(OneCycleLR(adagrad, OneCycleLROptions(0.1, 5).cycle_momentum(false)));
  refused([&] { CyclicLR(o, CyclicLROptions({0.1, 0.2}, {1})); }, {"base_lr has 2 values"}, "CyclicLR");
  refused([&] { CyclicLR(o, CyclicLROptions(0.1, NAN)); }, {"max_lr = nan"}, "CyclicLR");
  refused([&] { CyclicLR(o, CyclicLROptions(0.1, 1).step_size_up(0)); }, {"step_size_up = 0"}, "CyclicLR");
  refused([&] { CyclicLR(o, CyclicLROptions(0.1, 1).step_size_down(0)); }, {"step_size_down = 0"}, "CyclicLR");
  refused([&] { CyclicLR(o, CyclicLROptions(0.1, 1).gamma(-1)); }, {"gamma = -1"}, "CyclicLR");
  refused([&] { CyclicLR(adagrad, CyclicLROptions(0.1, 1)); }, {"neither momentum nor betas"}, "CyclicLR");
  refused([&] { SWALR(o, -1); }, {"swa_lr = -1"}, "SWALR");
  refused([&] { SWALR(o, {1, 2}); }, {"swa_lr has 2 values"}, "SWALR");
  refused([&] { SWALR(o, 1, -1); }, {"anneal_epochs = -1"}, "SWALR");
  StepLR scheduler(o, 1);
  refused([&] { scheduler.load_state_dict({}); }, {"missing keys: 'last_epoch'"}, "load_state_dict");
  refused([&] { scheduler.load_state_dict({{"last_epoch", tensor(-1)}}); }, {"'last_epoch' is -1"}, "load_state_dict");
  refused([&] { scheduler.load_state_dict({{"last_epoch", tensor(1.5)}}); }, {"f32", "one integer"}, "load_state_dict");
  EXPECT_EQ(scheduler.last_epoch(), 0);
}

TEST(LRSchedulerErrors, GroupsAddedLater) {
  SGD sgd = make_optimizer();
  OneCycleLR one_cycle(sgd, {{0.1, 0.2}, 5});
  LambdaLR lambda(sgd, {[](int64_t) { return 1.0; }, [](int64_t) { return 1.0; }});
  sgd.add_param_group(OptimizerParamGroup({zeros({1}).requires_grad_()}));
  EXPECT_THROWS(one_cycle.step(), StateError, "max_lr has 2 values", "group 2 was added");
  EXPECT_THROWS(lambda.step(), StateError, "2 functions", "group 2 was added");
}

}  // namespace
}  // namespace tandem::testing
