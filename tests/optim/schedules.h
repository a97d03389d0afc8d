#pragma once
// The schedules of tests/golden/schedulers.py.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "support/traces.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

using namespace optim;  // NOLINT(google-build-using-namespace)

/// Makes two groups, with lr 0.1 and 0.02.
inline SGD make_optimizer() {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()},
                      std::make_unique<SGDOptions>(SGDOptions(0.1).momentum(0.9)));
  groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()},
                      std::make_unique<SGDOptions>(SGDOptions(0.02).momentum(0.9)));
  return SGD(groups, 1.0);
}

inline std::shared_ptr<LRScheduler> sequence(Optimizer& o) {
  return std::make_shared<SequentialLR>(
      o,
      std::vector<std::shared_ptr<LRScheduler>>{std::make_shared<LinearLR>(o, 0.1),
                                                std::make_shared<CosineAnnealingLR>(o, 15, 0.001),
                                                std::make_shared<StepLR>(o, 2)},
      std::vector<int64_t>{5, 20});
}

using Made = std::shared_ptr<LRScheduler>;

/// The second schedule begins after four epochs.
inline Made in_sequence(Optimizer& o, std::vector<Made> schedulers) {
  return std::make_shared<SequentialLR>(o, std::move(schedulers), std::vector<int64_t>{4});
}

inline double power(int64_t epoch) { return std::pow(0.9, static_cast<double>(epoch)); }

inline Made lambdas(Optimizer& o) {
  return std::make_shared<LambdaLR>(
      o, std::vector<LambdaLR::Function>{power, [](int64_t e) { return 1 / (1 + static_cast<double>(e)); }});
}

inline Made multiplicative(Optimizer& o) {
  return std::make_shared<MultiplicativeLR>(o, [](int64_t e) { return 1 - 1 / (static_cast<double>(e) + 1); });
}

inline Made chained(std::vector<Made> schedulers) { return std::make_shared<ChainedScheduler>(std::move(schedulers)); }

inline Made one_cycle_groups(Optimizer& o) {
  return std::make_shared<OneCycleLR>(o, OneCycleLROptions({0.5, 0.2}, 5 * 7)
                                             .pct_start(0.25)
                                             .anneal_strategy(AnnealStrategy::linear)
                                             .base_momentum(0.7)
                                             .max_momentum(0.9)
                                             .div_factor(10)
                                             .final_div_factor(100)
                                             .three_phase(true));
}

inline Made cyclic_groups(Optimizer& o) {
  return std::make_shared<CyclicLR>(o, CyclicLROptions({0.001, 0.01}, {0.1, 0.5})
                                           .step_size_up(5)
                                           .step_size_down(3)
                                           .mode(CyclicLROptions::Mode::triangular2)
                                           .base_momentum(0.5));
}

inline Made cyclic_fn(Optimizer& o) {
  return std::make_shared<CyclicLR>(
      o, CyclicLROptions(0.001, 0.1)
             .step_size_up(3)
             .scale_fn([](int64_t x) { return 1 / std::pow(5.0, static_cast<double>(x) * 0.001); })
             .scale_mode(CyclicLROptions::ScaleMode::iterations));
}

inline const std::map<std::string, std::function<std::shared_ptr<LRScheduler>(Optimizer&)>>& schedulers() {
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
      {"sequence_of_restarts",
       [](Optimizer& o) {
         return in_sequence(
             o, {std::make_shared<LinearLR>(o, 0.1, 1.0, 4), std::make_shared<CosineAnnealingWarmRestarts>(o, 5)});
       }},
      {"sequence_of_lambda",
       [](Optimizer& o) {
         return in_sequence(o, {std::make_shared<LinearLR>(o, 0.1, 1.0, 4), std::make_shared<LambdaLR>(o, power)});
       }},
      {"multi_step",
       [](Optimizer& o) {
         return std::make_shared<MultiStepLR>(o, std::vector<int64_t>{20, 3, 11, 11}, 0.5);
       }},
      {"exponential", [](Optimizer& o) { return std::make_shared<ExponentialLR>(o, 0.9); }},
      {"constant", [](Optimizer& o) { return std::make_shared<ConstantLR>(o); }},
      {"constant_long", [](Optimizer& o) { return std::make_shared<ConstantLR>(o, 0.25, 12); }},
      {"polynomial", [](Optimizer& o) { return std::make_shared<PolynomialLR>(o); }},
      {"polynomial_square", [](Optimizer& o) { return std::make_shared<PolynomialLR>(o, 25, 2.0); }},
      {"restarts", [](Optimizer& o) { return std::make_shared<CosineAnnealingWarmRestarts>(o, 7); }},
      {"restarts_longer", [](Optimizer& o) { return std::make_shared<CosineAnnealingWarmRestarts>(o, 4, 2, 0.003); }},
      {"lambda", lambdas},
      {"multiplicative", multiplicative},
      {"chained",
       [](Optimizer& o) {
         return chained({std::make_shared<ConstantLR>(o, 0.1, 3), std::make_shared<ExponentialLR>(o, 0.9)});
       }},
      {"chained_cosine",
       [](Optimizer& o) {
         return chained({std::make_shared<LinearLR>(o, 0.1), std::make_shared<CosineAnnealingLR>(o, 40),
                         std::make_shared<MultiStepLR>(o, std::vector<int64_t>{8})});
       }},
      {"one_cycle", [](Optimizer& o) { return std::make_shared<OneCycleLR>(o, OneCycleLROptions(0.5, 30)); }},
      {"one_cycle_groups", one_cycle_groups},
      {"cyclic",
       [](Optimizer& o) { return std::make_shared<CyclicLR>(o, CyclicLROptions(0.001, 0.1).step_size_up(4)); }},
      {"cyclic_groups", cyclic_groups},
      {"cyclic_exp",
       [](Optimizer& o) {
         return std::make_shared<CyclicLR>(o, CyclicLROptions(0.001, 0.1)
                                                  .step_size_up(3)
                                                  .step_size_down(6)
                                                  .mode(CyclicLROptions::Mode::exp_range)
                                                  .gamma(0.95)
                                                  .cycle_momentum(false));
       }},
      {"cyclic_fn", cyclic_fn},
      {"swa", [](Optimizer& o) { return std::make_shared<SWALR>(o, 0.05); }},
      {"swa_linear",
       [](Optimizer& o) {
         return std::make_shared<SWALR>(o, std::vector<double>{0.05, 0.5}, 4, AnnealStrategy::linear);
       }},
      {"swa_at_once", [](Optimizer& o) { return std::make_shared<SWALR>(o, 0.05, 0); }},
  };
  return all;
}

/// Compares values of each group. PyTorch multiplies from rate to rate, so the rounding of each step accumulates.
inline void expect_values(const std::vector<double>& actual, const nlohmann::json& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t g = 0; g < actual.size(); ++g) EXPECT_NEAR(actual[g], expected[g].get<double>(), 2e-15) << what;
}

}  // namespace tandem::testing
