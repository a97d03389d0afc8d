// AMP defects of other systems that tandem does not have, one test each. The comments describe the other systems.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::AutocastGuard;
using amp::Cast;
using amp::GradScaler;
using amp::GradScalerOptions;

void set_grad(const Tensor& p, double value) { p.mutable_grad() = full(p.sizes(), value, p.options()); }

/// Scales a loss to initialise the scaler.
void start(GradScaler& scaler) { scaler.scale(ones({})); }

// 1. PyTorch sums the gradients of a cached cast in the low dtype: 1.0 here.
TEST(DefectsOfOtherSystems, GradientsOfReusedWeightsAreSummedInF32) {
  const Tensor w = ones({1, 1}).requires_grad_();
  Tensor total;
  {
    AutocastGuard guard(device_type());
    Tensor y = linear(ones({1, 1}), w).to(kFloat);
    for (int i = 0; i < 256; ++i) y = y + linear(full({1, 1}, 1.0 / 512), w).to(kFloat);
    total = y.sum();
  }
  total.backward();
  EXPECT_EQ(w.grad().item<float>(), 1.5F);
}

// 1b. PyTorch rounds a weight's gradient through f16, so 131072 becomes inf.
TEST(DefectsOfOtherSystems, WeightGradientsMayExceedTheF16Range) {
  auto gradient = [] {
    const Tensor w = ones({1, 1}).requires_grad_();
    Tensor y;
    {
      AutocastGuard guard(device_type(), kHalf);
      y = linear(full({64, 1}, 2048.0), w);
    }
    y.backward(ones({64, 1}, kHalf));
    return w.grad().item<float>();
  };
  EXPECT_EQ(gradient(), 131072.0F);
  amp::set_gradient_dtype(amp::GradientDType::Lower);
  const float rounded = gradient();
  amp::set_gradient_dtype(amp::GradientDType::Full);
  EXPECT_TRUE(std::isinf(rounded)) << "GradientDType::Lower reproduces PyTorch, got " << rounded;
}

// 2. PyTorch reuses the stale cast: 8 instead of 24.
TEST(DefectsOfOtherSystems, WeightChangedInARegionIsCastAgain) {
  TANDEM_TEST_ON_HOST();
  const Tensor w = ones({1, 8}).requires_grad_(), x = ones({1, 8});
  AutocastGuard guard(device_type());
  EXPECT_EQ(linear(x, w).item<float>(), 8);
  {
    NoGradGuard no_grad;
    w.mul_(3);
  }
  EXPECT_EQ(linear(x, w).item<float>(), 24);
  w.data_ptr<float>()[0] = 4;
  EXPECT_EQ(linear(x, w).item<float>(), 25);
}

// 3. PyTorch's cache key has no dtype: the inner region gets the cast of the outer one.
TEST(DefectsOfOtherSystems, NestedRegionsWithDifferentDtypesNeverMixCasts) {
  const Tensor w = full({1, 1}, 1.0 + 1.0 / 512).requires_grad_(), x = ones({1, 1});
  AutocastGuard outer(device_type(), kHalf);
  EXPECT_EQ(linear(x, w).item<float>(), 1.0F + 1.0F / 512);
  {
    AutocastGuard inner(device_type(), kBFloat16);
    const Tensor y = linear(x, w);
    EXPECT_EQ(y.dtype(), kBFloat16);
    EXPECT_EQ(y.item<float>(), 1.0F) << "bf16 has no 1 + 1/512";
  }
  EXPECT_EQ(linear(x, w).item<float>(), 1.0F + 1.0F / 512);
}

// 4. PyTorch before December 2025: the second output has no graph, so nothing is trained.
TEST(DefectsOfOtherSystems, CastsMadeUnderNoGradPropagateLaterGradients) {
  const Tensor w = ones({1, 2}).requires_grad_(), x = full({1, 2}, 3.0);
  AutocastGuard guard(device_type());
  {
    NoGradGuard no_grad;
    linear(x, w);
  }
  linear(x, w).to(kFloat).sum().backward();
  ASSERT_TRUE(w.grad().defined());
  EXPECT_EQ(w.grad()[0][0].item<float>(), 3);
}

// 5. PyTorch: the cache is global, and the end of a region in any thread clears it; a lock is held during casts.
TEST(DefectsOfOtherSystems, RegionsOfOtherThreadsKeepTheCache) {
  const Tensor w = ones({1, 2}).requires_grad_(), x = ones({1, 2});
  AutocastGuard guard(device_type());
  linear(x, w);
  std::thread([&] {
    AutocastGuard region(device_type());
    linear(x, w);
  }).join();
  EXPECT_EQ(amp::autocast_cache_stats().entries, 1);
}

// 6. PyTorch's CPU and CUDA lists differ: on the CPU, softmax and layer_norm run in bf16, and mixed layer_norm throws.
TEST(DefectsOfOtherSystems, AllDevicesUseOneTable) {
  AutocastGuard guard(device_type());
  const Tensor b = full({2, 4}, 0.5, kBFloat16);
  EXPECT_EQ(softmax(b, 1).dtype(), kFloat);
  EXPECT_EQ(layer_norm(b, {4}, ones({4}), zeros({4})).dtype(), kFloat);
  EXPECT_EQ(exp(b).dtype(), kFloat);
  EXPECT_EQ(sum(b).dtype(), kFloat);
}

// 7. PyTorch compares with ==, so the scale never grows again. Its scale can reach 0, and a NaN scale remains.
TEST(DefectsOfOtherSystems, ScaleGrowsAfterTheIntervalIsLowered) {
  const Tensor p = ones({1}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  GradScaler scaler(GradScalerOptions().init_scale(8).growth_interval(10));
  start(scaler);
  auto iterate = [&] {
    set_grad(p, 1);
    scaler.step(sgd);
    scaler.update();
  };
  for (int i = 0; i < 5; ++i) iterate();
  scaler.set_growth_interval(3);
  iterate();
  EXPECT_EQ(scaler.get_scale(), 16);
}

TEST(DefectsOfOtherSystems, ScaleNeverReachesZeroInfOrNaN) {
  const Tensor p = ones({1}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  GradScaler falling(GradScalerOptions().init_scale(0x1p-100));
  start(falling);
  for (int i = 0; i < 100; ++i) {
    set_grad(p, INFINITY);
    falling.step(sgd);
    falling.update();
    ASSERT_TRUE(std::isnormal(static_cast<float>(falling.get_scale())));
  }
  GradScaler rising(GradScalerOptions().init_scale(1e38).growth_factor(16).growth_interval(1));
  start(rising);
  for (int i = 0; i < 5; ++i) {
    set_grad(p, 1);
    rising.step(sgd);
    rising.update();
    ASSERT_TRUE(std::isfinite(static_cast<float>(rising.get_scale())));
  }
}

// 8. PyTorch checks only before the multiplication, so the update writes inf into the weights.
TEST(DefectsOfOtherSystems, FindsInfCausedByUnscaling) {
  for (const bool explicit_unscale : {false, true}) {
    const Tensor p = ones({1}).requires_grad_();
    optim::SGD sgd({p}, optim::SGDOptions(0.1));
    GradScaler scaler(GradScalerOptions().init_scale(0x1p-20));
    start(scaler);
    set_grad(p, 1e38);
    if (explicit_unscale) scaler.unscale_(sgd);
    EXPECT_TRUE(scaler.step(sgd).skipped());
    EXPECT_EQ(p.item<float>(), 1);
  }
}

// 9. Paddle: only the last optimizer counts. PyTorch: a skip looks like a step that returned None, and an assertion
// fails if all gradients are None.
TEST(DefectsOfOtherSystems, OverflowInAnyOptimizerCounts) {
  for (const int overflowing : {0, 1}) {
    const Tensor p[2] = {ones({1}).requires_grad_(), ones({1}).requires_grad_()};
    optim::SGD a({p[0]}, optim::SGDOptions(0.1)), b({p[1]}, optim::SGDOptions(0.1));
    GradScaler scaler(GradScalerOptions().init_scale(4));
    start(scaler);
    set_grad(p[overflowing], INFINITY);
    set_grad(p[1 - overflowing], 4);
    const amp::StepResult results[2] = {scaler.step(a), scaler.step(b)};
    scaler.update();
    EXPECT_TRUE(results[overflowing].skipped());
    EXPECT_FALSE(results[1 - overflowing].skipped());
    EXPECT_EQ(p[overflowing].item<float>(), 1);
    EXPECT_FLOAT_EQ(p[1 - overflowing].item<float>(), 0.9F);
    EXPECT_EQ(scaler.get_scale(), 2);
  }
}

TEST(DefectsOfOtherSystems, StepWithoutGradientsIsClean) {
  const Tensor p = ones({1}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(1));
  start(scaler);
  EXPECT_FALSE(scaler.step(sgd).skipped());
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 8);
}

// 10. PyTorch's fused optimizers leave scaled gradients in .grad.
TEST(DefectsOfOtherSystems, FusedAndPlainStepsGiveEqualResults) {
  for (const double gradient : {6.0, HUGE_VAL}) {
    Tensor params[2], grads[2];
    for (const bool plain : {false, true}) {
      const Tensor p = full({5}, 2.0).requires_grad_();
      optim::Adam adam({p}, optim::AdamOptions(0.1));
      GradScaler scaler(GradScalerOptions().init_scale(1024));
      start(scaler);
      set_grad(p, gradient * 1024);
      if (plain) scaler.unscale_(adam);
      scaler.step(adam);
      scaler.update();
      params[plain] = p.detach();
      grads[plain] = p.grad();
    }
    EXPECT_TRUE(params[0].eq(params[1]).all().item<bool>());
    EXPECT_TRUE(grads[0].eq(grads[1]).all().item<bool>());
    EXPECT_EQ(grads[0][0].item<float>(), static_cast<float>(gradient));
  }
}

TEST(DefectsOfOtherSystems, EveryReadAppliesThePendingUnscale) {
  TANDEM_TEST_ON_HOST();
  auto stepped = [](const std::function<float(const Tensor&)>& look) {
    const Tensor p = full({3}, 2.0).requires_grad_();
    optim::SGD sgd({p}, optim::SGDOptions(0.1));
    GradScaler scaler(GradScalerOptions().init_scale(1024));
    start(scaler);
    set_grad(p, 3 * 1024);
    scaler.step(sgd);
    return look(p.grad());
  };
  EXPECT_EQ(stepped([](const Tensor& g) { return g.const_data_ptr<float>()[1]; }), 3);
  EXPECT_EQ(stepped([](const Tensor& g) { return g.data_ptr<float>()[1]; }), 3);
  EXPECT_EQ(stepped([](const Tensor& g) { return g.accessor<const float, 1>()[1]; }), 3);
  EXPECT_EQ(stepped([](const Tensor& g) { return g.sum().item<float>() / 3; }), 3);
  EXPECT_EQ(stepped([](const Tensor& g) { return g.detach()[1].item<float>(); }), 3);
  EXPECT_EQ(stepped([](const Tensor& g) { return g.clone()[1].item<float>(); }), 3);
}

// 11. PyTorch: a closure passed by position runs after the unscale, and is evaluated by other rules.
TEST(DefectsOfOtherSystems, StepRefusesClosures) {
  const Tensor p = ones({1}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  bool called = false;
  const auto closure = [&] {
    called = true;
    return ones({});
  };
  GradScaler scaler;
  start(scaler);
  set_grad(p, 1);
  EXPECT_THROWS(scaler.step(sgd, closure), StateError, "closure");
  EXPECT_FALSE(called);
  GradScaler disabled(GradScalerOptions().enabled(false));
  disabled.step(sgd, closure);
  EXPECT_TRUE(called);
}

// 12. PyTorch: 2 * 65536 in f16 is inf.
TEST(DefectsOfOtherSystems, F16LossOfShapeOneDoesNotOverflow) {
  GradScaler scaler;
  const Tensor scaled = scaler.scale(full({1}, 2.0, kHalf));
  EXPECT_EQ(scaled.dtype(), kFloat);
  EXPECT_EQ(scaled.item<float>(), 131072.0F);
}

// 13. PyTorch: if batch_norm is in a cast policy, it writes its statistics into a cast copy.
TEST(DefectsOfOtherSystems, RunningStatisticsAreUpdatedInPlace) {
  for (const Cast policy : {Cast::keep, Cast::f32, Cast::lower}) {
    const Tensor mean = zeros({3}), var = ones({3});
    AutocastGuard guard(device_type());
    amp::PolicyGuard changed({{"batch_norm", policy}});
    const Tensor x = full({8, 3}, 2.0, policy == Cast::f32 ? kBFloat16 : kFloat);
    batch_norm(x, {}, {}, mean, var, true, 0.5, 1e-5);
    EXPECT_EQ(mean[0].item<float>(), 1);
    EXPECT_EQ(var[0].item<float>(), 0.5F);
  }
}

}  // namespace
}  // namespace tandem
