// A gradient knows its scale: whatever the order of calls, a step is right or throws StateError. The learning rate is
// 1, so that a parameter loses exactly the sum of its true gradients.
#include <cmath>
#include <functional>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;

/// Two parameters of value 16 with an optimizer each, and two scalers. With `growth_interval` 1 every update doubles
/// the scale.
struct GradientScale : ::testing::Test {
  Tensor a = full({2}, 16.0).requires_grad_(), b = full({2}, 16.0).requires_grad_();
  optim::SGD oa{std::vector<Tensor>{a}, optim::SGDOptions(1.0)}, ob{std::vector<Tensor>{b}, optim::SGDOptions(1.0)};
  GradScaler scaler{GradScalerOptions().init_scale(4).growth_interval(1)};
  GradScaler other{GradScalerOptions().init_scale(1024).growth_interval(1).growth_factor(3)};

  /// The loss whose gradient is `slope` for each element.
  static Tensor loss(const Tensor& p, double slope = 1) { return (p * slope).sum(); }
  void backward(const Tensor& p, double slope = 1) { scaler.scale(loss(p, slope)).backward(); }
  /// Steps another optimizer and updates, which changes the scale.
  void change_scale() {
    backward(b);
    scaler.step(ob);
    scaler.update();
  }
  static float value(const Tensor& p) { return p[0].item<float>(); }
};

TEST_F(GradientScale, StepAfterAnUpdateUsesTheScaleOfTheBackwardPass) {
  scaler.scale(loss(a) + loss(b)).backward();
  scaler.step(oa);
  scaler.update();
  scaler.step(ob);
  scaler.update();
  EXPECT_EQ(value(a), 15);
  EXPECT_EQ(value(b), 15);
  EXPECT_EQ(scaler.get_scale(), 16);
}

TEST_F(GradientScale, AccumulationOverAnUpdateIsRight) {
  backward(a, 2);
  change_scale();
  backward(a, 3);
  scaler.step(oa);
  EXPECT_EQ(value(a), 11);
  EXPECT_EQ(value(a.grad()), 5) << "unscaled afterwards";
}

TEST_F(GradientScale, BackwardAfterAnUpdateUsesTheScaleOfScale) {
  const Tensor scaled = scaler.scale(loss(a, 2));
  change_scale();
  scaler.update(64.0);
  scaled.backward({}, /*retain_graph=*/true);
  scaler.step(oa);
  scaler.update();
  EXPECT_EQ(value(a), 14);
  oa.zero_grad();
  scaled.backward();
  scaler.step(oa);
  EXPECT_EQ(value(a), 12);
}

TEST_F(GradientScale, GradientThatAnotherScalerUnscaledStaysUnscaledWhenChanged) {
  optim::SGD again({a}, optim::SGDOptions(1.0));
  other.scale(loss(a, 2)).backward();
  other.unscale_(oa);
  backward(b);  // the scaler has a scale now
  scaler.step(oa);
  EXPECT_EQ(value(a), 14);
  a.grad().mul_(2);
  scaler.step(again);
  EXPECT_EQ(value(a), 10);
}

TEST_F(GradientScale, TwoScalersOnOneParameter) {
  backward(a, 2);
  other.scale(loss(a, 3)).backward();
  scaler.step(oa);
  EXPECT_EQ(value(a), 11);
  oa.zero_grad();
  scaler.update();
  autograd::backward({other.scale(loss(a, 1)), scaler.scale(loss(a, 2))});  // in one pass
  (other.scale(loss(b, 1)) + scaler.scale(loss(b, 2))).backward();
  other.step(oa);
  other.step(ob);
  EXPECT_EQ(value(a), 8);
  EXPECT_EQ(value(b), 13);
}

TEST_F(GradientScale, QuotientsOfScalesMayExceedTheRangeOfF32) {
  GradScaler least(GradScalerOptions().init_scale(0x1p-126)), most(GradScalerOptions().init_scale(0x1p126));
  const auto add_both = [&](GradScaler& first, GradScaler& last, bool zeroes) {
    first.scale(loss(a, 2)).backward();
    if (zeroes) a.grad().zero_();
    last.scale(loss(a, 1)).backward();
    (first.scale(loss(b, 2)) + last.scale(loss(b, 1))).backward();  // in one pass
    last.step(oa);
    last.step(ob);
    last.update();
    oa.zero_grad();
    ob.zero_grad();
  };
  add_both(least, most, false);
  add_both(most, least, false);
  EXPECT_EQ(value(a), 10);
  EXPECT_EQ(value(b), 10);
  add_both(least, most, true);
  EXPECT_EQ(value(a), 9) << "zeros times a quotient of infinity";
}

TEST_F(GradientScale, BackwardAfterUnscale) {
  backward(a, 2);
  scaler.unscale_(oa);
  backward(a, 3);
  EXPECT_EQ(value(a.grad()), 20) << "all scaled";
  scaler.step(oa);
  EXPECT_EQ(value(a), 11);
  EXPECT_THROWS(scaler.step(oa), StateError, "already called");
}

TEST_F(GradientScale, BackwardAfterStepAddsToUnscaledGradients) {
  backward(a, 2);
  scaler.step(oa);
  scaler.update();
  backward(a, 3);  // without zero_grad()
  scaler.step(oa);
  EXPECT_EQ(value(a), 16 - 2 - 5);
}

TEST_F(GradientScale, UnscaledLossAfterUnscaleIsAddedAsItIs) {
  backward(a, 2);
  scaler.unscale_(oa);
  loss(a, 3).backward();
  scaler.step(oa);
  EXPECT_EQ(value(a), 11);
}

TEST_F(GradientScale, ForgottenScaleThrows) {
  scaler.scale(ones({}));
  loss(a).backward();
  EXPECT_THROWS(scaler.step(oa), StateError, "parameter 0 [2]", "a loss that was not scaled", "scale(loss)");
  EXPECT_THROWS(scaler.unscale_(oa), StateError, "a loss that was not scaled");
  oa.step();
  EXPECT_EQ(value(a), 15);
}

TEST_F(GradientScale, ForgottenScaleOfOneLossThrows) {
  backward(a, 2);
  loss(a, 3).backward();
  loss(b, 3).backward();
  backward(b, 2);
  const Tensor c = full({2}, 16.0).requires_grad_();
  optim::SGD oc({c}, optim::SGDOptions(1.0));
  (scaler.scale(loss(c, 2)) + loss(c, 3)).backward();  // in one pass
  for (optim::SGD* optimizer : {&oa, &ob, &oc}) {
    EXPECT_THROWS(scaler.step(*optimizer), StateError, "different scales", "one that was not", "zero_grad()");
    EXPECT_THROWS(optimizer->step(), StateError, "multiplied by");
    optimizer->zero_grad();
  }
  backward(a, 2);
  loss(a, 3).backward();
  a.grad().zero_();
  backward(a, 2);
  scaler.step(oa);
  EXPECT_EQ(value(a), 14) << "zeros are no sum";
}

TEST_F(GradientScale, PlainStepOnScaledGradientsThrows) {
  const auto each = [&](const auto& make) {
    const auto optimizer = make(std::vector<Tensor>{a});
    backward(a);
    EXPECT_THROWS(optimizer->step(), StateError, "[2] parameter", "scaler.step(optimizer)", "unscale_(optimizer)");
    EXPECT_EQ(value(a), 16);
    scaler.unscale_(*optimizer);
    optimizer->step();
    EXPECT_NE(value(a), 16);
    scaler.update();
    NoGradGuard no_grad;
    a.fill_(16);
    optimizer->zero_grad();
  };
  each([](auto params) { return std::make_unique<optim::SGD>(params, 1.0); });
  each([](auto params) { return std::make_unique<optim::Adam>(params, 1.0); });
  each([](auto params) { return std::make_unique<optim::RMSprop>(params, optim::RMSpropOptions(1.0)); });
  optim::LBFGS lbfgs(std::vector<Tensor>{a});
  EXPECT_THROWS(lbfgs.step([&] {
    backward(a);
    return loss(a);
  }),
                StateError, "scaler.step(optimizer)");
}

TEST_F(GradientScale, PlainStepOnGradientsUnscaledByHandIsAccepted) {
  backward(a);
  a.grad().mul_(0.25);
  oa.step();
  EXPECT_EQ(value(a), 15);
}

TEST_F(GradientScale, PlainStepIsAcceptedAfterWritesThatMayHaveUnscaled) {
  const double inverse = 1 / scaler.get_scale();
  backward(a);
  a.grad().data().mul_(inverse);
  oa.step();
  EXPECT_EQ(value(a), 15) << "through data()";
  oa.zero_grad();
  backward(a);
  from_blob(a.grad().data_ptr<float>(), {2}, a.grad().options()).mul_(inverse);
  oa.step();
  EXPECT_EQ(value(a), 14) << "through a pointer";
  oa.zero_grad();
  const unsigned hook =
      autograd::register_post_accumulate_grad_hook(a, [&](const Tensor& p) { p.grad().mul_(inverse); });
  backward(a);
  oa.step();
  EXPECT_EQ(value(a), 13) << "by a hook";
  autograd::remove_post_accumulate_grad_hook(a, hook);
  oa.zero_grad();
  backward(a);
  a.grad().mul_(inverse);
  loss(a, 2).backward();
  oa.step();
  EXPECT_EQ(value(a), 10) << "before the gradient of another loss";
  oa.zero_grad(/*set_to_none=*/false);
  const Tensor alias = a.grad().detach();
  backward(a);
  a.grad().mul_(inverse);
  loss(a, 2).backward();
  oa.step();
  EXPECT_EQ(value(a), 7) << "of a gradient with an alias";
}

TEST_F(GradientScale, UnscalingAGradientAsATensorIsKnown) {
  backward(a, 2);
  scaler.unscale_(std::vector<Tensor>{a.grad()});
  scaler.step(oa);
  EXPECT_EQ(value(a), 14);
}

TEST_F(GradientScale, ClippingKeepsTheScale) {
  backward(a, 2);
  nn::utils::clip_grad_value_(a, 4.0);  // that is 1 times the scale
  EXPECT_THROWS(oa.step(), StateError, "multiplied by a GradScaler's scale");
  change_scale();
  scaler.step(oa);
  EXPECT_EQ(value(a), 15);
}

TEST_F(GradientScale, WrittenGradientsKeepTheirScale) {
  backward(a, 2);
  a.grad().mul_(3);
  change_scale();
  scaler.step(oa);
  EXPECT_EQ(value(a), 10);
}

TEST_F(GradientScale, AssignedGradientsHaveTheCurrentScale) {
  backward(b);
  change_scale();  // 8
  a.mutable_grad() = full({2}, 16.0);
  scaler.step(oa);
  EXPECT_EQ(value(a), 14);
  oa.zero_grad();
  a.mutable_grad() = full({2}, 16.0);
  oa.step();
  EXPECT_EQ(value(a), -2) << "without a scaler: as it is";
}

TEST_F(GradientScale, SumsWithAssignedGradients) {
  scaler.scale(ones({}));
  a.mutable_grad() = full({2}, 8.0);
  backward(a, 3);
  b.mutable_grad() = full({2}, 8.0);
  backward(b, 3);
  scaler.step(oa);
  EXPECT_EQ(value(a), 11) << "of the same scale";
  scaler.update();
  EXPECT_THROWS(scaler.step(ob), StateError, "one that was assigned", "its scale is unknown");
}

TEST_F(GradientScale, StaysWithAGradientThatTheProgramUsesAgain) {
  const Tensor x = full({2}, 16.0).requires_grad_();
  backward(x, 2);
  const std::vector<Tensor> grads = autograd::grad({scaler.scale(loss(b, 3))}, {b});
  change_scale();
  a.backward(x.grad());
  ob.zero_grad();
  b.mutable_grad() = grads[0];
  EXPECT_THROWS(oa.step(), StateError, "multiplied by");
  EXPECT_THROWS(ob.step(), StateError, "multiplied by");
  scaler.step(oa);
  scaler.step(ob);
  EXPECT_EQ(value(a), 14);
  EXPECT_EQ(value(b), 15 - 3);
}

TEST_F(GradientScale, UnscalingTensorsDividesEachByItsScale) {
  backward(a, 2);
  scaler.update(64.0);
  for (int i = 0; i < 2; ++i) scaler.unscale_({a.grad()});
  EXPECT_EQ(value(a.grad()), 2) << "divided once, by its scale";
  scaler.update();
  backward(a, 3);
  scaler.step(oa);
  EXPECT_EQ(value(a), 11);
  oa.zero_grad();
  loss(a).backward();
  EXPECT_THROWS(scaler.unscale_({a.grad()}), StateError, "tensor 0 [2]", "a loss that was not scaled");
}

TEST_F(GradientScale, GivenGradientsAddToUnscaledOnes) {
  const auto add_by_hand = [&](double slope, double scale) { loss(a, slope).backward(full({}, scale)); };
  backward(a, 2);
  scaler.unscale_(oa);
  add_by_hand(3, 1);
  scaler.step(oa);
  scaler.update();
  EXPECT_EQ(value(a), 11) << "after unscale_() they are unscaled";
  add_by_hand(1, 8);  // without zero_grad()
  EXPECT_THROWS(scaler.step(oa), StateError, "given to backward()", "zero_grad()");
  backward(a, 1);
  EXPECT_THROWS(scaler.step(oa), StateError, "different scales");
  oa.zero_grad();
  backward(a, 1);
  scaler.step(oa);
  scaler.update();
  a.grad().zero_();
  add_by_hand(4, 16);
  scaler.step(oa);
  EXPECT_EQ(value(a), 11 - 1 - 4);
}

TEST_F(GradientScale, GradientsMayBeUnscaledBySetData) {
  backward(a, 2);
  a.grad().set_data(a.grad() / 4);
  oa.step();
  EXPECT_EQ(value(a), 14);
}

TEST_F(GradientScale, ZeroedGradientsTakeAnyScale) {
  backward(a, 2);
  change_scale();
  for (const Tensor& p : {a, b}) p.mutable_grad() = p.grad().clone();
  oa.zero_grad(/*set_to_none=*/false);
  ob.zero_grad(/*set_to_none=*/false);
  backward(a, 3);
  loss(b, 3).backward();
  scaler.step(oa);
  ob.step();
  EXPECT_EQ(value(a), 13);
  EXPECT_EQ(value(b), 12);
}

TEST_F(GradientScale, OverflowInAnOlderPartSkipsTheStep) {
  backward(a, INFINITY);
  change_scale();
  backward(a, 3);
  EXPECT_TRUE(scaler.step(oa).skipped());
  EXPECT_EQ(value(a), 16);
}

TEST_F(GradientScale, RecordedSumsHaveOneScaleToo) {
  const auto penalty = [&] { return (a * a).sum(); };
  scaler.scale(penalty()).backward({}, {}, /*create_graph=*/true);
  scaler.update(64.0);
  scaler.scale(penalty()).backward({}, {}, /*create_graph=*/true);
  EXPECT_EQ(value(a.grad()), 64 * 64);
  EXPECT_EQ(autograd::grad({a.grad().sum()}, {a})[0][0].item<float>(), 64 * 4);
  a.mutable_grad() = a.grad().detach();
}

TEST_F(GradientScale, SixteenBitGradientsOfDifferentScalesBecomeF32) {
  for (const DType low : {kHalf, kBFloat16}) {
    const Tensor p = full({2}, 16.0, low).requires_grad_();
    optim::SGD sgd({p}, optim::SGDOptions(1.0));
    GradScaler wide(GradScalerOptions().init_scale(1024).backoff_factor(0x1p-20));
    wide.scale(loss(p, 2)).backward();
    EXPECT_EQ(p.grad().dtype(), low);
    wide.update(0x1p-20);
    wide.scale(loss(p, 1)).backward();
    EXPECT_EQ(p.grad().dtype(), kFloat);
    wide.step(sgd);
    EXPECT_EQ(value(p), 13);
  }
}

TEST_F(GradientScale, SixteenBitActivationsOfDifferentScalesThrow) {
  const Tensor low = a.to(kBFloat16);
  (scaler.scale(low.sum()) + other.scale(low.sum())).backward();
  EXPECT_THROWS(scaler.step(oa), StateError, "different scales", "added in 16 bits", "zero_grad()");
  EXPECT_THROWS(oa.step(), StateError, "multiplied by");
}

TEST_F(GradientScale, ScalingTwiceThrows) {
  scaler.scale(other.scale(loss(a))).backward();
  EXPECT_THROWS(scaler.step(oa), StateError, "different scales");
}

TEST_F(GradientScale, NestedPassesPassTheScaleOn) {
  const Tensor inner = loss(a, 2);
  const Tensor detached = inner.detach().requires_grad_();
  detached.register_hook([&](const Tensor& g) {
    autograd::backward({inner}, {g});
    return g;
  });
  scaler.scale(detached * 3).backward();
  change_scale();
  scaler.step(oa);
  EXPECT_EQ(value(a), 10);
}

TEST_F(GradientScale, LossesOfNestedPassesMayUseTheGradientsThatTheyGet) {
  const Tensor x = full({2}, 1.0).requires_grad_();
  x.register_hook([&](const Tensor& g) {
    const AutoGradMode recording(true);
    (loss(a, 2) * g[0].detach()).backward();
    return g;
  });
  scaler.scale(loss(x, 3)).backward();
  scaler.step(oa);
  EXPECT_EQ(value(a), 10);
}

TEST_F(GradientScale, LossesMadeOfScaledGradientsThrow) {
  const Tensor hidden = a * 2, detached = hidden.detach().requires_grad_();
  scaler.scale(loss(detached, 3)).backward();
  (hidden * detached.grad()).sum().backward({}, true);
  EXPECT_THROWS(scaler.step(oa), StateError, "a loss that was not scaled", "y.backward(gradient)");
  oa.zero_grad();
  hidden.backward(detached.grad());
  scaler.step(oa);
  EXPECT_EQ(value(a), 10);
}

TEST_F(GradientScale, ScaleOfOneMayBeSet) {
  GradScaler one(GradScalerOptions().init_scale(1).static_scale(true));
  loss(a).backward();
  one.scale(loss(a)).backward();
  one.step(oa);
  EXPECT_EQ(value(a), 14) << "1 is the scale of losses that were not scaled";
  one.update(8.0);
  oa.zero_grad();
  one.scale(loss(a)).backward();
  EXPECT_THROWS(oa.step(), StateError, "multiplied by");
  one.step(oa);
  EXPECT_EQ(value(a), 13);
}

TEST_F(GradientScale, GradientsOfSeveralScalesInOneOptimizer) {
  optim::SGD both({a, b}, optim::SGDOptions(1.0));
  for (const bool unscales : {false, true}) {
    backward(a, 2);
    scaler.update(64.0);
    backward(b, 3);
    if (unscales) scaler.unscale_(both);
    scaler.step(both);
    scaler.update();
    both.zero_grad();
  }
  EXPECT_EQ(value(a), 12);
  EXPECT_EQ(value(b), 10);
}

TEST_F(GradientScale, MovesWithItsModule) {
  nn::Linear layer(1, 1);
  scaler.scale(layer->weight.sum()).backward();
  layer->to(kDouble);
  scaler.update(64.0);
  optim::SGD sgd(layer->parameters(), optim::SGDOptions(1.0));
  const double before = layer->weight.item<double>();
  EXPECT_THROWS(sgd.step(), StateError, "multiplied by");
  scaler.step(sgd);
  EXPECT_EQ(layer->weight.item<double>(), before - 1);
}

}  // namespace
}  // namespace tandem::testing
