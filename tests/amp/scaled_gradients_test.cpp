// Gradients that are still scaled: unscaling plain tensors, and the warnings for clipping scaled gradients and for
// backward inside a region.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/warn.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using nn::utils::clip_grad_norm_;
using nn::utils::clip_grad_value_;

/// Collects warnings until the end of the scope; with `always`, also warn_once warnings that were already given.
struct Warnings {
  explicit Warnings(bool always = true) : always_(set_warn_always(always)) {
    previous_ = set_warning_handler([this](const std::string& message) { messages.push_back(message); });
  }
  ~Warnings() {
    set_warning_handler(previous_);
    set_warn_always(always_);
  }
  std::vector<std::string> messages;

 private:
  bool always_;
  std::function<void(const std::string&)> previous_;
};

struct ScaledGradients : ::testing::Test {
  Tensor p = full({3}, 2.0).requires_grad_(), q = full({2}, 1.0).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{p, q}, optim::SGDOptions(0.5)};
  GradScaler scaler{GradScalerOptions().init_scale(1024)};

  Tensor loss() { return (p * p).sum() + (q * 3).sum(); }
  size_t warnings_of_clipping() {
    Warnings warnings;
    clip_grad_norm_({p, q}, 1.0);
    for (const std::string& m : warnings.messages) {
      EXPECT_NE(m.find("clip_grad_norm_"), std::string::npos);
      EXPECT_NE(m.find("unscale_(optimizer)"), std::string::npos);
    }
    return warnings.messages.size();
  }
};

// ---- clipping

TEST_F(ScaledGradients, ClippingWarns) {
  scaler.scale(loss()).backward();
  EXPECT_TRUE(autograd::gradient_scale(p).must_be_unscaled());
  EXPECT_EQ(warnings_of_clipping(), 1U);
  sgd.zero_grad();
  scaler.scale(loss()).backward();
  Warnings warnings;
  clip_grad_value_(p, 0.5);
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_NE(warnings.messages[0].find("clip_grad_value_"), std::string::npos);
}

TEST_F(ScaledGradients, ClippingWarnsOnce) {
  size_t count = 0;
  for (int i = 0; i < 5; ++i) {
    sgd.zero_grad();
    scaler.scale(loss()).backward();
    Warnings warnings(/*always=*/false);
    clip_grad_norm_({p, q}, 1.0);
    count += warnings.messages.size();
  }
  EXPECT_LE(count, 1U) << "0 if another test of this process has warned";
}

TEST_F(ScaledGradients, ClippingUnscaledGradientsDoesNotWarn) {
  scaler.scale(loss()).backward();
  scaler.unscale_(sgd);
  EXPECT_EQ(warnings_of_clipping(), 0U);
  scaler.step(sgd);
  scaler.update();
  sgd.zero_grad();
  loss().backward();
  EXPECT_EQ(warnings_of_clipping(), 0U) << "never scaled";
}

TEST_F(ScaledGradients, ClippingAfterStepDoesNotWarn) {
  scaler.scale(loss()).backward();
  scaler.step(sgd);
  EXPECT_EQ(warnings_of_clipping(), 0U);
}

TEST_F(ScaledGradients, UnscaleAffectsOnlyTheOptimizersParameters) {
  optim::SGD only_p({p}, optim::SGDOptions(0.5));
  scaler.scale(loss()).backward();
  scaler.unscale_(only_p);
  EXPECT_FALSE(autograd::gradient_scale(p).must_be_unscaled());
  EXPECT_TRUE(autograd::gradient_scale(q).must_be_unscaled());
  EXPECT_EQ(warnings_of_clipping(), 1U) << "q's";
}

TEST_F(ScaledGradients, ClippingAccumulatedGradientsWarns) {
  scaler.scale(loss()).backward();
  scaler.scale(loss()).backward();
  EXPECT_EQ(warnings_of_clipping(), 1U);
}

TEST_F(ScaledGradients, AreDetectedAfterArithmeticOnTheLoss) {
  (scaler.scale(loss()) / 4 + scaler.scale(q.sum())).backward();
  EXPECT_TRUE(autograd::gradient_scale(p).must_be_unscaled() && autograd::gradient_scale(q).must_be_unscaled());
  sgd.zero_grad();
  autograd::backward({scaler.scale(p.sum()), q.sum()});
  EXPECT_TRUE(autograd::gradient_scale(p).must_be_unscaled());
  EXPECT_FALSE(autograd::gradient_scale(q).must_be_unscaled()) << "only where the gradient came through scale()";
}

TEST_F(ScaledGradients, ClippingAfterManualUnscaleDoesNotWarn) {
  scaler.scale(loss()).backward();
  for (const Tensor& t : {p, q}) t.grad().mul_(1.0 / scaler.get_scale());
  EXPECT_EQ(warnings_of_clipping(), 0U);
  scaler.scale(loss()).backward();
  p.mutable_grad() = ones({3});
  q.grad().data_ptr<float>();  // a pointer for writing
  EXPECT_EQ(warnings_of_clipping(), 0U);
}

TEST_F(ScaledGradients, DisabledOrUnitScaleDoesNotWarn) {
  GradScaler disabled(GradScalerOptions().enabled(false));
  GradScaler one(GradScalerOptions().init_scale(1).static_scale(true));
  for (GradScaler* s : {&disabled, &one}) {
    sgd.zero_grad();
    s->scale(loss()).backward();
    EXPECT_EQ(warnings_of_clipping(), 0U);
  }
}

TEST_F(ScaledGradients, ClippingWithAScaledThresholdStillWorks) {
  // PyTorch's test_grad_scaling_clipping: no unscale_, a threshold times the scale.
  const auto clipped = [&](bool by_scale) {
    sgd.zero_grad();
    scaler.scale(loss()).backward();
    Warnings silent;
    if (by_scale) {
      clip_grad_norm_({p, q}, 0.5 * scaler.get_scale());
    } else {
      scaler.unscale_(sgd);
      clip_grad_norm_({p, q}, 0.5);
    }
    scaler.step(sgd);
    scaler.update();
    const Tensor result = p.detach().clone();
    NoGradGuard no_grad;
    p.fill_(2);
    q.fill_(1);
    return result;
  };
  EXPECT_TRUE(near(clipped(true), clipped(false), tolerance(kFloat, 5)));
}

// ---- plain tensors

TEST_F(ScaledGradients, UnscalingPlainTensors) {
  const auto scaled = autograd::grad({scaler.scale(loss())}, {p, q});
  EXPECT_TRUE(near(scaled[0], {4096, 4096, 4096}, kExact));
  const auto grads = scaler.unscale({scaled[0], scaled[1], Tensor()});
  EXPECT_TRUE(near(grads[0], {4, 4, 4}, kExact));
  EXPECT_TRUE(near(grads[1], {3, 3}, kExact));
  EXPECT_FALSE(grads[2].defined());
  EXPECT_EQ(scaler.inverse_scale().item<float>(), 1.0F / 1024);
  EXPECT_TRUE(near(scaled[0] * scaler.inverse_scale(), {4, 4, 4}, kExact));
  EXPECT_FALSE(autograd::gradient_scale(p).must_be_unscaled()) << "no .grad was touched";
}

TEST_F(ScaledGradients, UnscalingF16GivesF32) {
  scaler.scale(loss());
  const Tensor tiny = full({1}, 0x1p-20, kHalf);
  EXPECT_EQ(scaler.unscale(tiny).dtype(), kFloat);
  EXPECT_EQ(scaler.unscale(tiny).item<float>(), 0x1p-30F);
  EXPECT_EQ(scaler.unscale(full({1}, 1024.0, kDouble)).item<double>(), 1);
}

TEST_F(ScaledGradients, GradientPenaltyEqualsAnUnscaledRun) {
  // PyTorch's test_grad_scaling_penalty.
  const auto run = [&](GradScaler& s) {
    sgd.zero_grad();
    const auto grads = s.unscale(autograd::grad({s.scale(loss())}, {p, q}, {}, {}, true));
    Tensor penalty = zeros({});
    for (const Tensor& g : grads) penalty = penalty + g.pow(2).sum();
    s.scale(loss() + penalty.sqrt()).backward();
    s.unscale_(sgd);
    const Tensor g = p.grad().clone();
    s.step(sgd);
    s.update();
    NoGradGuard no_grad;
    p.fill_(2);
    q.fill_(1);
    return g;
  };
  GradScaler disabled(GradScalerOptions().enabled(false));
  EXPECT_TRUE(near(run(scaler), run(disabled), tolerance(kFloat, 5)));
}

TEST_F(ScaledGradients, DisabledScalerUnscalesNothing) {
  GradScaler disabled(GradScalerOptions().enabled(false));
  EXPECT_TRUE(disabled.unscale(p).is_same(p));
  EXPECT_EQ(disabled.inverse_scale().item<float>(), 1);
}

TEST_F(ScaledGradients, UpdateDoesNotChangeAnInverseScale) {
  scaler.scale(loss()).backward();
  const Tensor inverse = scaler.inverse_scale();
  scaler.step(sgd);
  scaler.update(4.0);
  EXPECT_EQ(inverse.item<float>(), 1.0F / 1024);
  EXPECT_EQ(scaler.inverse_scale().item<float>(), 0.25F);
}

// ---- backward inside a region

TEST_F(ScaledGradients, BackwardInARegionWorksAndWarns) {
  const Tensor x = ones({2, 3});
  const auto gradient = [&](bool inside) {
    p.mutable_grad() = Tensor();
    std::optional<amp::AutocastGuard> region(std::in_place, device_type());
    const Tensor y = linear(x, p.view({1, 3})).exp().sum();
    if (!inside) region.reset();
    y.backward();
    return p.grad();
  };
  Warnings warnings;
  const Tensor outside = gradient(false);
  EXPECT_TRUE(warnings.messages.empty());
  EXPECT_TRUE(same_bits(gradient(true), outside));
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_NE(warnings.messages[0].find("backward: called inside an autocast region"), std::string::npos);
  amp::AutocastGuard off(device_type(), {}, false);
  loss().backward();
  EXPECT_EQ(warnings.messages.size(), 1U) << "a disabled region does not count";
}

TEST_F(ScaledGradients, BackwardUnderAModesAutocastDoesNotWarn) {
  Warnings warnings;
  amp::set_autocast_enabled(device_type(), true);
  loss().backward();
  EXPECT_TRUE(warnings.messages.empty());
  {
    amp::AutocastGuard region(device_type());
    loss().backward();
  }
  EXPECT_EQ(warnings.messages.size(), 1U);
  amp::set_autocast_enabled(device_type(), false);
  amp::clear_autocast_cache();
}

TEST_F(ScaledGradients, WarnOnceAndWarnAlways) {
  Warnings warnings(/*always=*/false);
  for (int i = 0; i < 3; ++i) warn_once("scaled_gradients_test: once");
  EXPECT_EQ(warnings.messages.size(), 1U);
  EXPECT_FALSE(set_warn_always(true));
  for (int i = 0; i < 3; ++i) warn_once("scaled_gradients_test: once");
  EXPECT_EQ(warnings.messages.size(), 4U);
}

}  // namespace
}  // namespace tandem::testing
