// A scaler steps optimizers of the user, and built-in ones with an overridden step, with unscaled gradients.
#include <cmath>

#include "amp/grad_scaler_support.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;

TEST_F(GradScalerTest, AUsersOwnOptimizerIsUnscaledAndSkipped) {
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

TEST_F(GradScalerTest, AStepThatReplacesTheBuiltInOneIsUnscaledAndSkipped) {
  Replaced replaced(std::vector<Tensor>{p}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  for (const double slope : {2.0, static_cast<double>(NAN)}) {
    backward(scaler, slope);
    scaler.step(replaced);
    scaler.update();
  }
  EXPECT_EQ(p[0].item<float>(), 2);
}

TEST_F(GradScalerTest, AnOverriddenStepOfAScalingIsCalled) {
  Doubled doubled(std::vector<Tensor>{p}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(64));
  for (const double slope : {1.5, static_cast<double>(NAN)}) {
    backward(scaler, slope);
    scaler.step(doubled);
    scaler.update();
  }
  EXPECT_EQ(p[0].item<float>(), 1);
}

}  // namespace
}  // namespace tandem::testing
