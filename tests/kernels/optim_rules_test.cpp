// optimizer_step against the rules of math/optim_rules.h in plain f64 loops over several steps, at every SIMD level.
// tests/optim/golden_test.cpp compares the rules themselves with PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernels_under_test.h"
#include "kernels/parameter_lists.h"
#include "support/compare.h"
#include "support/simd_levels.h"
#include "tandem/tensor/optimizer_call.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;
using enum ListLayout;

class OptimRuleKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(OptimRuleKernels);

struct RuleCase {
  decltype(OptimizerCall::rule) rule;
  unsigned states;  ///< those that the caller supplies, as bits
};

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> all = {
      {math::RmsProp{0.9, 1e-3, 0.05, 0}, 0b001},
      {math::RmsProp{0.9, 1e-3, 0, 0.5}, 0b011},
      {math::RmsProp{0.9, 1e-3, 0.05, 0}, 0b101},
      {math::RmsProp{0.9, 1e-3, 0, 0.5}, 0b111},
      {math::Adagrad{0.1, 1e-3, 0.05}, 0b001},
      {math::Adadelta{0.9, 1e-2, 0.05}, 0b011},
      {math::Adamax{0.9, 0.99, 1e-3, 0.05}, 0b011},
      {math::NAdam{0.9, 0.99, 1e-3, 0.05, 0.1, false}, 0b011},
      {math::NAdam{0.9, 0.99, 1e-3, 0.05, 0.1, true}, 0b011},
      {math::RAdam{0.9, 0.9, 1e-3, 0.05, false}, 0b011},
      {math::RAdam{0.9, 0.9, 1e-3, 0.05, true}, 0b011},
      {math::Lamb{0.9, 0.99, 1e-3, 0.05}, 0b011},
      {math::Lamb{0.9, 0.99, 1e-3, 0}, 0b011},
  };
  return all;
}
// Rounding can change the sign that Lion steps by, so Lion is not compared with f64, but otherwise tested.
const RuleCase kLion = {math::Lion{0.9, 0.99, 0.05}, 0b001};

struct RuleTypes {
  DType param, grad;
  std::optional<DType> shadow;
};
const RuleTypes kRuleTypes[] = {{kFloat, kFloat, kBFloat16}, {kFloat, kHalf, kHalf},     {kFloat, kBFloat16, {}},
                                {kDouble, kFloat, {}},       {kDouble, kDouble, kFloat}, {kBFloat16, kFloat, {}},
                                {kHalf, kHalf, {}}};
constexpr int64_t kRuleSizes[] = {1, 5, 341, 1000};

OptimizerCall make_call(const RuleCase& c, const RuleTypes& types, ListLayout layout) {
  OptimizerCall call;
  call.rule = c.rule;
  call.lr = 0.01;
  const bool t = layout == transposed;
  for (int64_t n : kRuleSizes) {
    call.params.push_back(list_tensor(n, types.param, t));
    call.grads.push_back(list_gradient(n, types.grad, layout));
    if (types.shadow) call.shadows.push_back(list_tensor(n, *types.shadow, t));
    write(call.params.back(), random_values(3 * n, static_cast<uint32_t>(n)));
    for (size_t k = 0; k < 3; ++k) {
      if ((c.states >> k & 1) == 0) continue;
      call.states[k].push_back(list_tensor(n, types.param == kDouble ? kDouble : kFloat, t));
      write(call.states[k].back(), Values(static_cast<size_t>(3 * n), 0));
    }
    if (!std::holds_alternative<math::Lion>(c.rule)) call.steps.push_back(scalar_of(0));
    if (std::holds_alternative<math::NAdam>(c.rule)) call.scalars.push_back(scalar_of(1));
  }
  return call;
}

/// One parameter in f64.
struct RuleModel {
  Values p, states[3];
  float scalar = 1;
  int steps = 0;

  void step(const Values& grad, const OptimizerCall& call, unsigned present) {
    for (Values& s : states) s.resize(p.size());
    std::visit([&](const auto& rule) { update(rule, grad, call, present); }, call.rule);
  }

  template <class Rule>
  void update(const Rule& rule, const Values& grad, const OptimizerCall& call, unsigned present) {
    auto c = rule.template constants<double>(call.lr, ++steps, scalar);
    if constexpr (Rule::kOptional != 0) c.states = present;
    double p_squares = 0, u_squares = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      p_squares += p[i] * p[i];
      p[i] = Rule::update(p[i], call.maximize ? -grad[i] : grad[i], states[0][i], states[1][i], states[2][i], c);
      u_squares += states[2][i] * states[2][i];
    }
    if constexpr (std::is_same_v<Rule, math::Lamb>) {
      const double ratio = std::sqrt(p_squares) / std::sqrt(u_squares);
      for (size_t i = 0; i < p.size(); ++i) p[i] -= call.lr * ratio * states[2][i];
    }
  }
};

TEST_P(OptimRuleKernels, MatchTheRulesInF64) {
  for (size_t number = 0; number < rule_cases().size(); ++number) {
    const RuleCase& c = rule_cases()[number];
    for (const RuleTypes& types : kRuleTypes) {
      for (const ListLayout layout : {contiguous, transposed, strided_grad}) {
        SCOPED_TRACE(number);
        OptimizerCall call = make_call(c, types, layout);
        call.maximize = layout == transposed;
        const double scale = layout == contiguous ? 1024 : 1;
        if (scale != 1) call.scaling = {scalar_of(1 / scale), scalar_of(0)};
        std::vector<RuleModel> models(call.params.size());
        for (size_t k = 0; k < models.size(); ++k) models[k].p = read(call.params[k]);
        for (uint32_t i = 0; i < 6; ++i) {
          for (size_t k = 0; k < models.size(); ++k) {
            Values g = random_values(call.params[k].numel(), 100 * i + static_cast<uint32_t>(k));
            for (double& x : g) x *= scale;
            write(call.grads[k], g);
            g = read(call.grads[k]);
            for (double& x : g) x /= scale;
            models[k].step(g, call, c.states);
          }
          under_test().optimizer_step(call);
        }
        // In f32 about thirty operations a step, some of them relative to the largest value; a 16-bit parameter is
        // rounded at each step.
        const Tolerance tolerance = testing::tolerance(types.param, 180, 7, 4);
        for (size_t k = 0; k < models.size(); ++k) {
          EXPECT_TRUE(near(call.params[k], models[k].p, tolerance)) << "parameter";
          ASSERT_EQ(read(call.steps[k])[0], 6);
          if (!call.scalars.empty()) {
            ASSERT_EQ(read(call.scalars[k])[0], models[k].scalar);
          }
          if (types.shadow && types.param == kFloat) {
            const Tensor rounded = empty_strided(call.shadows[k].sizes(), call.shadows[k].strides(), *types.shadow);
            write(rounded, read(call.params[k]));
            ASSERT_EQ(bytes_of(call.shadows[k]), bytes_of(rounded));
          }
        }
      }
    }
  }
}

std::vector<RuleCase> all_cases() {
  std::vector<RuleCase> all = rule_cases();
  all.push_back(kLion);
  return all;
}

std::vector<std::vector<char>> snapshot(const OptimizerCall& call) {
  std::vector<std::vector<char>> all;
  for (const auto* list :
       {&call.params, &call.shadows, &call.states[0], &call.states[1], &call.states[2], &call.steps, &call.scalars}) {
    for (const Tensor& t : *list) all.push_back(bytes_of(t));
  }
  return all;
}

TEST_P(OptimRuleKernels, OverflowChangesNoByte) {
  for (const RuleCase& c : all_cases()) {
    for (const RuleTypes& types : {RuleTypes{kFloat, kHalf, kBFloat16}, RuleTypes{kDouble, kDouble, {}}}) {
      OptimizerCall call = make_call(c, types, contiguous);
      for (const Tensor& s : call.shadows) write(s, Values(static_cast<size_t>(s.numel()), 7));
      for (const Tensor& g : call.grads) {
        write(g, Values(static_cast<size_t>(g.numel()), std::numeric_limits<double>::infinity()));
      }
      for (double flag : {1.0, static_cast<double>(NAN)}) {
        call.scaling = {scalar_of(0.5), scalar_of(flag)};
        const auto before = snapshot(call);
        under_test().optimizer_step(call);
        EXPECT_EQ(snapshot(call), before);
      }
    }
  }
}

// A single multiply-add from the scaled gradient to the parameter would change the last bit.
TEST_P(OptimRuleKernels, FusedUnscaleEqualsSeparateUnscaleBitForBit) {
  for (const RuleCase& c : all_cases()) {
    for (const bool shadows : {false, true}) {
      const RuleTypes types{kFloat, kFloat, shadows ? std::optional(kBFloat16) : std::nullopt};
      OptimizerCall fused = make_call(c, types, contiguous), plain = make_call(c, types, contiguous);
      fused.scaling = {scalar_of(1 / 3.0), scalar_of(0)};
      for (uint32_t i = 0; i < 3; ++i) {
        for (size_t k = 0; k < fused.params.size(); ++k) {
          for (const auto* call : {&fused, &plain}) {
            write(call->grads[k], random_values(call->grads[k].numel(), 10 * i + static_cast<uint32_t>(k)));
          }
        }
        under_test().unscale(plain.grads, fused.scaling.inverse_scale, scalar_of(0));
        under_test().optimizer_step(fused);
        under_test().optimizer_step(plain);
      }
      EXPECT_EQ(snapshot(fused), snapshot(plain));
    }
  }
}

/// Tensors may share a step count and a scalar: all tensors must read them before they are written. More tensors than a
/// CUDA block has threads.
TEST_P(OptimRuleKernels, TensorsMayShareCounts) {
  const auto make_many = [](bool shared) {
    OptimizerCall call;
    call.rule = math::NAdam{0.9, 0.99, 1e-8, 0, 0.004, false};
    call.lr = 0.01;
    const Tensor count = scalar_of(3), product = scalar_of(0.5);
    for (int k = 0; k < 600; ++k) {
      call.params.push_back(list_tensor(1, kFloat, false));
      call.grads.push_back(list_tensor(1, kFloat, false));
      write(call.params.back(), {1, 2, 3});
      write(call.grads.back(), {1, -2, 3});
      for (size_t s = 0; s < 2; ++s) {
        call.states[s].push_back(list_tensor(1, kFloat, false));
        write(call.states[s].back(), {0.5, 0.25, 1});
      }
      call.steps.push_back(shared ? count : scalar_of(3));
      call.scalars.push_back(shared ? product : scalar_of(0.5));
    }
    return call;
  };
  const OptimizerCall shared = make_many(true), own = make_many(false);
  under_test().optimizer_step(shared);
  under_test().optimizer_step(own);
  EXPECT_EQ(snapshot(shared), snapshot(own));
}

// Large enough for several threads, and for several partial sums of LAMB's norms.
TEST_P(OptimRuleKernels, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  for (const RuleCase& c : {rule_cases().back(), rule_cases()[0]}) {
    std::vector<std::vector<char>> results[2];
    for (int run = 0; run < 2; ++run) {
      set_num_threads(run == 0 ? 1 : 3);
      OptimizerCall call;
      call.rule = c.rule;
      call.lr = 0.01;
      for (int64_t n : {100001, 0, 33}) {
        call.params.push_back(list_tensor(n, kFloat, false));
        call.grads.push_back(list_tensor(n, kFloat, false));
        write(call.params.back(), random_values(3 * n, 5));
        write(call.grads.back(), random_values(3 * n, 6));
        for (size_t k = 0; k < 2; ++k) {
          if ((c.states >> k & 1) == 0) continue;
          call.states[k].push_back(list_tensor(n, kFloat, false));
          write(call.states[k].back(), Values(static_cast<size_t>(3 * n), 0));
        }
        call.steps.push_back(scalar_of(0));
      }
      under_test().optimizer_step(call);
      results[run] = snapshot(call);
    }
    EXPECT_EQ(results[0], results[1]);
  }
  set_num_threads(threads);
}

TEST_P(OptimRuleKernels, LambStepsByTheRateIfANormIsZero) {
  const RuleCase lamb{math::Lamb{0, 0, 0, 0}, 0b011};
  OptimizerCall call = make_call(lamb, {kFloat, kFloat, {}}, contiguous);
  for (const Tensor& p : call.params) write(p, Values(static_cast<size_t>(p.numel()), 0));
  for (const Tensor& g : call.grads) write(g, Values(static_cast<size_t>(g.numel()), -2));
  call.lr = 0.5;
  under_test().optimizer_step(call);
  for (const Tensor& p : call.params) EXPECT_EQ(read(p), Values(static_cast<size_t>(p.numel()), 0.5));
}

// A variance of exactly equal gradients, which rounding makes negative in PyTorch.
TEST_P(OptimRuleKernels, CenteredRmsPropOfConstantGradientsIsFinite) {
  const RuleCase centered{math::RmsProp{0.5, 1e-3, 0, 0}, 0b101};
  OptimizerCall call = make_call(centered, {kFloat, kFloat, {}}, contiguous);
  for (const Tensor& g : call.grads) write(g, Values(static_cast<size_t>(g.numel()), 1.1));
  for (int i = 0; i < 100; ++i) under_test().optimizer_step(call);
  for (const Tensor& p : call.params) {
    for (const double x : read(p)) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST_P(OptimRuleKernels, EmptyLists) {
  for (const RuleCase& c : all_cases()) {
    OptimizerCall call;
    call.rule = c.rule;
    EXPECT_NO_THROW(under_test().optimizer_step(call));
  }
}

}  // namespace
}  // namespace tandem
