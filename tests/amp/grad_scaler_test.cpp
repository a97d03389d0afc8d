#include "tandem/amp/grad_scaler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using amp::Hysteresis;

/// A user-defined optimizer without support for scaling: p -= g.
class PlainDescent : public optim::Optimizer {
 public:
  explicit PlainDescent(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(1.0)) {}
  using Optimizer::step;
  Tensor step(LossClosure closure = nullptr) override {
    ++steps;
    NoGradGuard no_grad;
    for (const Tensor& p : parameters()) p.sub_(p.grad());
    return evaluate(closure);
  }
  int steps = 0;
};

struct GradScalerTest : ::testing::Test {
  Tensor p = full({2}, 4.0).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{p}, optim::SGDOptions(1.0)};

  void backward(GradScaler& scaler, double slope = 1) {
    sgd.zero_grad();
    scaler.scale((p * slope).sum()).backward();
  }
  void iterate(GradScaler& scaler, double slope = 1) {
    backward(scaler, slope);
    scaler.step(sgd);
    scaler.update();
  }
};

TEST_F(GradScalerTest, ScalesTensorsAndLists) {
  GradScaler scaler(GradScalerOptions().init_scale(8));
  EXPECT_EQ(scaler.get_scale(), 8);
  EXPECT_EQ(scaler.scale(full({}, 3.0)).item<float>(), 24);
  EXPECT_EQ(scaler.scale(full({2}, 3.0, kDouble)).dtype(), kDouble);
  EXPECT_EQ(scaler.scale(full({2}, 3.0, kBFloat16)).dtype(), kFloat);
  const std::vector<Tensor> scaled = scaler.scale(std::vector<Tensor>{ones({}), full({1}, 2.0)});
  ASSERT_EQ(scaled.size(), 2U);
  EXPECT_EQ(scaled[1].item<float>(), 16);
  EXPECT_THROWS(scaler.scale(Tensor()), StateError, "scale", "undefined");
  EXPECT_THROWS(scaler.scale(ones({2}, kInt)), DTypeError, "scale", "i32");
}

TEST_F(GradScalerTest, StepUnscalesAndLeavesUnscaledGradients) {
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  backward(scaler, 2);
  EXPECT_EQ(p.grad()[0].item<float>(), 2048);
  EXPECT_FALSE(scaler.step(sgd).skipped());
  EXPECT_EQ(p[0].item<float>(), 2);
  EXPECT_EQ(p.grad()[0].item<float>(), 2);
}

TEST_F(GradScalerTest, StepAfterUnscaleUsesTheChangedGradient) {
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  backward(scaler, 2);
  scaler.unscale_(sgd);
  EXPECT_EQ(p.grad()[0].item<float>(), 2);
  p.mutable_grad().mul_(0.5);  // as clipping does
  scaler.step(sgd);
  scaler.update();
  EXPECT_EQ(p[0].item<float>(), 3);
}

TEST_F(GradScalerTest, InfSkipsAndBacksOff) {
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  iterate(scaler, INFINITY);
  EXPECT_EQ(p[0].item<float>(), 4);
  EXPECT_EQ(scaler.get_scale(), 512);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);
  iterate(scaler, 1);
  EXPECT_EQ(p[0].item<float>(), 3);
  EXPECT_EQ(scaler.get_growth_tracker(), 1);
}

TEST_F(GradScalerTest, SkippedResultsOutliveLaterIterations) {
  GradScaler scaler(GradScalerOptions().init_scale(2));
  backward(scaler, INFINITY);
  const amp::StepResult first = scaler.step(sgd);
  scaler.update();
  backward(scaler, 1);
  const amp::StepResult second = scaler.step(sgd);
  scaler.update();
  EXPECT_TRUE(first.skipped());
  EXPECT_FALSE(second.skipped());
}

TEST_F(GradScalerTest, CustomOptimizerIsUnscaledAndSkipped) {
  PlainDescent descent({p});
  GradScaler scaler(GradScalerOptions().init_scale(64));
  backward(scaler, 2);
  EXPECT_FALSE(scaler.step(descent).skipped());
  scaler.update();
  EXPECT_EQ(p[0].item<float>(), 2);
  backward(scaler, NAN);
  EXPECT_TRUE(scaler.step(descent).skipped());
  scaler.update();
  EXPECT_EQ(descent.steps, 1);
  EXPECT_EQ(scaler.get_scale(), 32);
}

/// A built-in optimizer whose step() is overridden and calls the base.
template <class Base>
struct Counting : Base {
  using Base::Base;
  using Base::step;
  Tensor step(optim::Optimizer::LossClosure closure = nullptr) override {
    ++steps;
    gradient = this->parameters()[0].grad()[0].template item<float>();
    return Base::step(closure);
  }
  int steps = 0;
  float gradient = 0;  // as seen by step()
};
/// The same, but step() does not call the base.
struct Replaced : optim::SGD {
  using SGD::SGD;
  using SGD::step;
  Tensor step(LossClosure = nullptr) override {
    NoGradGuard no_grad;
    for (const Tensor& x : parameters()) x.sub_(x.grad());
    return {};
  }
};
/// A built-in optimizer whose step(scaling) is overridden.
struct Doubled : optim::SGD {
  using SGD::SGD;
  using SGD::step;
  void step(const FusedUnscale& scaling) override {
    SGD::step(scaling);
    SGD::step(scaling);
  }
};

template <class Optimizer>
struct OverriddenStep : ::testing::Test {};
using BuiltIn = ::testing::Types<optim::SGD, optim::Adam, optim::AdamW>;
TYPED_TEST_SUITE(OverriddenStep, BuiltIn);

TYPED_TEST(OverriddenStep, IsCalledAndSkipped) {
  const Tensor p = full({2}, 4.0).requires_grad_(), q = full({2}, 4.0).requires_grad_();
  Counting<TypeParam> counting(std::vector<Tensor>{p}, 1.0);
  TypeParam plain(std::vector<Tensor>{q}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  for (const double slope : {2.0, static_cast<double>(INFINITY), 2.0}) {
    for (const Tensor& x : {p, q}) x.mutable_grad() = Tensor();
    scaler.scale(((p + q) * slope).sum()).backward();
    const amp::StepResult result = scaler.step(counting);
    scaler.step(plain);
    EXPECT_EQ(result.skipped(), std::isinf(slope));
    scaler.update();
  }
  EXPECT_EQ(counting.steps, 2);
  EXPECT_EQ(counting.gradient, 2) << "unscaled";
  EXPECT_TRUE(p.detach().eq(q.detach()).all().template item<bool>());
}

TYPED_TEST(OverriddenStep, IsCalledAfterUnscale) {
  const Tensor p = full({2}, 4.0).requires_grad_();
  Counting<TypeParam> counting(std::vector<Tensor>{p}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  scaler.scale(p.sum()).backward();
  scaler.unscale_(counting);
  scaler.step(counting);
  scaler.update();
  EXPECT_EQ(counting.steps, 1);
}

TEST_F(GradScalerTest, ReplacedStepIsUnscaledAndSkipped) {
  Replaced replaced(std::vector<Tensor>{p}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  for (const double slope : {2.0, static_cast<double>(NAN)}) {
    backward(scaler, slope);
    scaler.step(replaced);
    scaler.update();
  }
  EXPECT_EQ(p[0].item<float>(), 2);
}

TEST_F(GradScalerTest, OverriddenFusedStepIsCalled) {
  Doubled doubled(std::vector<Tensor>{p}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  for (const double slope : {1.5, static_cast<double>(NAN)}) {
    backward(scaler, slope);
    scaler.step(doubled);
    scaler.update();
  }
  EXPECT_EQ(p[0].item<float>(), 1);
}

TEST_F(GradScalerTest, GradientSharedByParametersIsUnscaledOnce) {
  for (const bool is_view : {false, true}) {
    for (const bool first_unscale : {false, true}) {
      const Tensor a = ones({2}).requires_grad_(), b = ones({2}).requires_grad_();
      optim::SGD both({a, b}, optim::SGDOptions(1.0));
      GradScaler scaler(GradScalerOptions().init_scale(8));
      scaler.scale(a.sum()).backward();
      b.mutable_grad() = is_view ? a.grad().view({2}) : a.grad();
      if (first_unscale) scaler.unscale_(both);
      scaler.step(both);
      scaler.update();
      EXPECT_EQ(a[0].item<float>(), 0);
      EXPECT_EQ(b[0].item<float>(), 0);
      EXPECT_EQ(a.grad()[0].item<float>(), 1);
    }
  }
  GradScaler scaler(GradScalerOptions().init_scale(8));
  scaler.scale(ones({}));
  const Tensor g = full({2}, 8.0);
  scaler.unscale_({g, g.view({2, 1}), g});
  EXPECT_EQ(g[1].item<float>(), 1);
}

/// Returns the parameter after a step on `grad`, with or without a call of unscale_ before it.
Tensor stepped(const Tensor& start, const Tensor& grad, bool unscaled, bool adam) {
  const Tensor p = start.clone().requires_grad_();
  optim::SGD sgd(std::vector<Tensor>{p}, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  optim::Adam with_moments(std::vector<Tensor>{p}, optim::AdamOptions(0.1));
  optim::Optimizer& optimizer = adam ? static_cast<optim::Optimizer&>(with_moments) : sgd;
  GradScaler scaler(GradScalerOptions().init_scale(1000).static_scale(true));
  scaler.scale(ones({}));
  for (int i = 0; i < 3; ++i) {
    p.mutable_grad() = grad.clone();
    if (unscaled) scaler.unscale_(optimizer);
    scaler.step(optimizer);
    scaler.update();
  }
  return p.detach();
}

TEST_F(GradScalerTest, ExplicitUnscaleDoesNotChangeTheStep) {
  const Tensor start = randn({300}), grad = randn({300}) * 1000;
  struct Dtypes {
    DType param, grad;
  };
  for (const Dtypes d : {Dtypes{kFloat, kFloat},
                         {kBFloat16, kBFloat16},
                         {kDouble, kDouble},
                         {kFloat, kBFloat16},
                         {kFloat, kDouble},
                         {kDouble, kFloat}}) {
    for (const bool adam : {false, true}) {
      const Tensor a = stepped(start.to(d.param), grad.to(d.grad), false, adam),
                   b = stepped(start.to(d.param), grad.to(d.grad), true, adam);
      EXPECT_TRUE(a.eq(b).all().item<bool>()) << name(d.param) << " with gradients in " << name(d.grad);
    }
  }
}

TEST_F(GradScalerTest, FusedStepKeepsSmallF16Gradients) {
  const Tensor half = full({2}, 1.0, kHalf).requires_grad_();
  optim::SGD steps_half(std::vector<Tensor>{half}, optim::SGDOptions(4096.0));
  GradScaler scaler(GradScalerOptions().init_scale(0x1p20));
  scaler.scale(ones({}));
  half.mutable_grad() = full({2}, 0x1p-8, kHalf);  // 2^-28 unscaled, not representable in f16
  scaler.step(steps_half);
  EXPECT_EQ(half[0].item<float>(), 1);  // 1 - 2^-16, rounded
  steps_half.param_groups()[0].options().set_lr(0x1p26);
  scaler.update();
  half.mutable_grad() = full({2}, 0x1p-8, kHalf);
  scaler.step(steps_half);
  EXPECT_EQ(half[0].item<float>(), 0.75F);
}

TEST_F(GradScalerTest, MovedFromScalerThrows) {
  GradScaler scaler;
  scaler.scale(ones({}));
  const GradScaler taken = std::move(scaler);
  EXPECT_EQ(taken.get_scale(), 65536);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_THROWS(scaler.set_growth_factor(3), StateError, "set_growth_factor", "moved");
  EXPECT_THROWS(scaler.set_backoff_factor(0.25), StateError, "set_backoff_factor", "moved");
  EXPECT_THROWS(scaler.set_growth_interval(3), StateError, "set_growth_interval", "moved");
  EXPECT_THROWS(scaler.scale(ones({})), StateError, "scale", "moved");
  EXPECT_THROWS(scaler.load_state_dict(taken.state_dict()), StateError, "load_state_dict", "moved");
  EXPECT_THROWS(scaler.step(sgd), StateError, "step");
  EXPECT_THROWS(scaler.update(), StateError, "update");
  scaler = GradScaler();
  // NOLINTEND(bugprone-use-after-move)
  scaler.set_growth_factor(3);
}

TEST_F(GradScalerTest, WrongOrderNamesTheMissingCall) {
  GradScaler scaler;
  EXPECT_THROWS(scaler.unscale_(sgd), StateError, "unscale_", "scale(loss)");
  EXPECT_THROWS(scaler.step(sgd), StateError, "step", "scale(loss)");
  EXPECT_THROWS(scaler.update(), StateError, "update", "scale(loss)");
  EXPECT_THROWS(scaler.update(4.0), StateError, "update", "scale(loss)");
  backward(scaler);
  EXPECT_THROWS(scaler.update(), StateError, "update", "step(optimizer)");
  scaler.unscale_(sgd);
  EXPECT_THROWS(scaler.unscale_(sgd), StateError, "already", "once per iteration");
  scaler.step(sgd);
  EXPECT_THROWS(scaler.unscale_(sgd), StateError, "after step()");
  EXPECT_THROWS(scaler.step(sgd), StateError, "already", "update()");
  scaler.update();
  iterate(scaler);
}

TEST_F(GradScalerTest, OptimizerWithoutStepCountsOnceUnscaled) {
  GradScaler scaler(GradScalerOptions().init_scale(4));
  backward(scaler, INFINITY);
  scaler.unscale_(sgd);
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 2);
}

TEST_F(GradScalerTest, RefusedF16GradientsNameTheParameter) {
  const Tensor h = ones({3}, kHalf).requires_grad_();
  h.mutable_grad() = ones({3}, kHalf);
  optim::SGD half_sgd(std::vector<Tensor>{h}, optim::SGDOptions(0.1));
  GradScaler scaler;
  scaler.scale(ones({}));
  EXPECT_THROWS(scaler.unscale_(half_sgd), DTypeError, "parameter 0", "[3]", "f16");
  EXPECT_FALSE(scaler.step(half_sgd).skipped()) << "the fused step reads f16 gradients, as PyTorch's does";
}

TEST_F(GradScalerTest, UpdateAcceptsANewScale) {
  GradScaler scaler;
  backward(scaler);
  scaler.update(32.0);
  EXPECT_EQ(scaler.get_scale(), 32);
  scaler.update(full({1}, 16.0));
  EXPECT_EQ(scaler.get_scale(), 16);
  EXPECT_THROWS(scaler.update(0.0), StateError, "new_scale");
  EXPECT_THROWS(scaler.update(NAN), StateError, "new_scale");
  EXPECT_THROWS(scaler.update(ones({2})), StateError, "one element");
  EXPECT_THROWS(scaler.update(ones({1}, kDouble)), StateError, "f32");
  EXPECT_EQ(scaler.get_scale(), 16);
}

TEST_F(GradScalerTest, OptionsAreChecked) {
  auto make = [](const GradScalerOptions& o) { GradScaler scaler(o); };
  EXPECT_THROWS(make(GradScalerOptions().growth_factor(1)), StateError, "growth_factor", "1");
  EXPECT_THROWS(make(GradScalerOptions().backoff_factor(1)), StateError, "backoff_factor");
  EXPECT_THROWS(make(GradScalerOptions().backoff_factor(0)), StateError, "backoff_factor");
  EXPECT_THROWS(make(GradScalerOptions().growth_interval(0)), StateError, "growth_interval");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(0)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(INFINITY)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().min_scale(8).max_scale(4)), StateError, "min_scale", "max_scale");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(2).min_scale(8)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().hysteresis(0)), StateError, "hysteresis");
  EXPECT_THROWS(make(GradScalerOptions().max_consecutive_skips(-1)), StateError, "max_consecutive_skips");
  GradScaler scaler;
  EXPECT_THROWS(scaler.set_growth_factor(0.5), StateError, "growth_factor");
  EXPECT_THROWS(scaler.set_backoff_factor(2), StateError, "backoff_factor");
  EXPECT_THROWS(scaler.set_growth_interval(-1), StateError, "growth_interval");
  scaler.set_growth_factor(4);
  scaler.set_backoff_factor(0.25);
  scaler.set_growth_interval(7);
  EXPECT_EQ(scaler.get_growth_factor(), 4);
  EXPECT_EQ(scaler.get_backoff_factor(), 0.25);
  EXPECT_EQ(scaler.get_growth_interval(), 7);
}

TEST_F(GradScalerTest, DisabledScalerChangesNothing) {
  GradScaler scaler(GradScalerOptions().enabled(false));
  const Tensor loss = (p * 2).sum();
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  loss.backward();
  scaler.unscale_(sgd);
  EXPECT_FALSE(scaler.step(sgd).skipped());
  scaler.update();
  EXPECT_EQ(p[0].item<float>(), 2);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_TRUE(scaler.state_dict().empty());
  EXPECT_FALSE(scaler.is_enabled());
  scaler.load_state_dict({});
}

TEST_F(GradScalerTest, ScaleStaysWithinMinAndMax) {
  GradScaler floor(GradScalerOptions().init_scale(4).min_scale(2));
  for (int i = 0; i < 4; ++i) iterate(floor, INFINITY);
  EXPECT_EQ(floor.get_scale(), 2);
  GradScaler ceiling(GradScalerOptions().init_scale(4).max_scale(8).growth_interval(1));
  for (int i = 0; i < 4; ++i) iterate(ceiling, 0);
  EXPECT_EQ(ceiling.get_scale(), 8);
}

TEST_F(GradScalerTest, StaticScaleIsConstantAndStillSkips) {
  GradScaler scaler(GradScalerOptions().init_scale(4).static_scale(true).growth_interval(1));
  iterate(scaler, INFINITY);
  EXPECT_EQ(p[0].item<float>(), 4);
  iterate(scaler, 1);
  EXPECT_EQ(p[0].item<float>(), 3);
  EXPECT_EQ(scaler.get_scale(), 4);
}

TEST_F(GradScalerTest, GradientSharedByOptimizersIsUnscaledOnce) {
  for (bool plain : {false, true}) {
    const Tensor shared = full({2}, 1.0).requires_grad_(), own = full({2}, 1.0).requires_grad_();
    optim::SGD first({shared}, optim::SGDOptions(1.0)), second({own, shared}, optim::SGDOptions(1.0));
    PlainDescent descent({own, shared});
    GradScaler scaler(GradScalerOptions().init_scale(8));
    scaler.scale((shared * 3 + own * 5).sum()).backward();
    scaler.step(first);
    scaler.step(plain ? static_cast<optim::Optimizer&>(descent) : second);
    EXPECT_EQ(shared[0].item<float>(), 1 - 3 - 3);
    EXPECT_EQ(own[0].item<float>(), 1 - 5);
    EXPECT_EQ(shared.grad()[1].item<float>(), 3);
    scaler.update();
  }
}

TEST_F(GradScalerTest, OverflowInASharedGradientSkipsBoth) {
  const Tensor shared = full({2}, 1.0).requires_grad_(), own = full({2}, 1.0).requires_grad_();
  optim::SGD first({shared}, optim::SGDOptions(1.0)), second({own, shared}, optim::SGDOptions(1.0));
  GradScaler scaler(GradScalerOptions().init_scale(8));
  scaler.scale((shared * INFINITY + own).sum()).backward();
  EXPECT_TRUE(scaler.step(first).skipped());
  EXPECT_TRUE(scaler.step(second).skipped());
  EXPECT_EQ(own[0].item<float>(), 1);
}

TEST_F(GradScalerTest, IterationContinuesAfterARefusedCall) {
  GradScaler scaler(GradScalerOptions().init_scale(8));
  backward(scaler);
  const Tensor gradient = p.grad();
  p.mutable_grad() = gradient.to(kHalf);
  EXPECT_THROWS(scaler.unscale_(sgd), DTypeError, "f16");
  p.mutable_grad() = ones({2}, kLong);
  EXPECT_THROWS(scaler.unscale_(sgd), DTypeError, "unscale_: the gradient of parameter 0 [2] is i64");
  EXPECT_THROWS(scaler.step(sgd), DTypeError, "step: the gradient of parameter 0 [2] is i64");
  EXPECT_NO_THROW(scaler.load_state_dict(scaler.state_dict()));
  p.mutable_grad() = gradient;
  scaler.step(sgd);
  EXPECT_EQ(p[0].item<float>(), 3);
}

TEST_F(GradScalerTest, ThrowsAfterTooManySkips) {
  GradScaler scaler(GradScalerOptions().max_consecutive_skips(2));
  for (int i = 0; i < 3; ++i) iterate(scaler, INFINITY);
  backward(scaler, 1);
  EXPECT_THROWS(scaler.step(sgd), StateError, "3 iterations in a row", "limit is 2");
}

TEST_F(GradScalerTest, HysteresisRules) {
  // Each step is 'x' for an overflow or '.' for a clean step; `scales` has the scale after each, from 64 with
  // hysteresis 2.
  struct Row {
    Hysteresis rule;
    std::string steps;
    std::vector<double> scales;
  };
  const Row rows[] = {{Hysteresis::megatron, "xx.xx", {64, 32, 32, 32, 16}},
                      {Hysteresis::megatron, "xxx", {64, 32, 16}},
                      {Hysteresis::colossal, "x.x.x", {64, 64, 32, 32, 16}},
                      {Hysteresis::paddle, "xxx.xx", {64, 32, 32, 32, 32, 16}}};
  for (const Row& row : rows) {
    GradScaler scaler(GradScalerOptions().init_scale(64).hysteresis(2).hysteresis_rule(row.rule));
    for (size_t i = 0; i < row.steps.size(); ++i) {
      iterate(scaler, row.steps[i] == 'x' ? INFINITY : 0);
      EXPECT_EQ(scaler.get_scale(), row.scales[i]) << row.steps << " at " << i;
    }
  }
}

TEST_F(GradScalerTest, StateLoadsIntoAnotherScaler) {
  GradScaler first(GradScalerOptions().init_scale(64).growth_interval(3).hysteresis(2));
  iterate(first, 0);
  iterate(first, 0);
  iterate(first, INFINITY);
  iterate(first, 0);
  const amp::ScalerState state = first.state_dict();
  EXPECT_EQ(state.at("_growth_tracker").to_int64(), 1);
  for (const bool lazy : {true, false}) {
    GradScaler second(GradScalerOptions().hysteresis(2));
    if (!lazy) second.scale(ones({}));
    second.load_state_dict(state);
    EXPECT_EQ(second.get_scale(), first.get_scale());
    EXPECT_EQ(second.get_growth_interval(), 3);
    EXPECT_EQ(second.get_growth_tracker(), 1);
    for (const auto& [key, value] : second.state_dict()) EXPECT_EQ(value.to_double(), state.at(key).to_double()) << key;
  }
}

TEST_F(GradScalerTest, InvalidStateChangesNothing) {
  GradScaler scaler(GradScalerOptions().init_scale(64));
  EXPECT_THROWS(scaler.load_state_dict({}), StateError, "empty", "disabled");
  amp::ScalerState state = scaler.state_dict();
  state.erase("_growth_tracker");
  EXPECT_THROWS(scaler.load_state_dict(state), StateError, "_growth_tracker", "missing");
  state = scaler.state_dict();
  state["scale"] = -1.0;
  EXPECT_THROWS(scaler.load_state_dict(state), StateError, "scale", "-1");
  for (const auto& [key, value] : {std::pair<const char*, Scalar>{"_growth_tracker", -5},
                                   {"_growth_tracker", int64_t{1} << 40},
                                   {"growth_interval", 2.5},
                                   {"consecutive_skips", -1}}) {
    state = scaler.state_dict();
    state["growth_factor"] = 3.0;
    state[key] = value;
    EXPECT_THROWS(scaler.load_state_dict(state), StateError, key, "whole number");
  }
  EXPECT_EQ(scaler.get_growth_factor(), 2);
  GradScaler bounded(GradScalerOptions().init_scale(8).max_scale(16));
  EXPECT_THROWS(bounded.load_state_dict(scaler.state_dict()), StateError, "scale 64", "max_scale 16");
  EXPECT_EQ(scaler.get_scale(), 64);
  backward(scaler);
  scaler.unscale_(sgd);
  EXPECT_THROWS(scaler.load_state_dict(scaler.state_dict()), StateError, "middle of an iteration");
}

TEST_F(GradScalerTest, NewOptimizerAtAReusedAddressStartsFresh) {
  GradScaler scaler;
  scaler.scale(ones({}));
  p.mutable_grad() = ones({2});
  alignas(optim::SGD) unsigned char memory[sizeof(optim::SGD)];
  for (int i = 0; i < 2; ++i) {
    auto* optimizer = new (memory) optim::SGD(std::vector<Tensor>{p}, optim::SGDOptions(0.1));
    EXPECT_NO_THROW(scaler.unscale_(*optimizer));
    optimizer->~SGD();
  }
}

}  // namespace
}  // namespace tandem
