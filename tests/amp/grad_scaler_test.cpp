// The calls of an iteration: scale, unscale_, step and update.
#include "tandem/amp/grad_scaler.h"

#include <cmath>

#include "amp/grad_scaler_support.h"
#include "support/throws.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;

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

// zero_grad(false) keeps the memory, so the second gradient is where the first one was unscaled.
TEST_F(GradScalerTest, NewGradientInTheMemoryOfAnUnscaledOneIsUnscaled) {
  for (const bool explicitly : {false, true}) {
    for (const bool clip : {false, true}) {
      const Tensor w = ones({2}).requires_grad_();
      optim::SGD a({w}, 0.25), b({w}, 0.25);
      GradScaler scaler;
      scaler.scale(w.sum()).backward();
      if (explicitly) scaler.unscale_(a);
      scaler.step(a);
      a.zero_grad(false);
      scaler.scale(w.sum()).backward();
      if (clip) w.mutable_grad().mul_(0.5);
      scaler.step(b);
      scaler.update();
      EXPECT_EQ(w[0].item<float>(), clip ? 0.625f : 0.5f);
      EXPECT_EQ(w.grad()[0].item<float>(), clip ? 0.5f : 1.0f);
    }
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
}  // namespace tandem::testing
