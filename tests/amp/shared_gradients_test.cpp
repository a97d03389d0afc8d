// Gradients that the program uses again: of several parameters, parts of one buffer, or given to backward().
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/engine.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// Two parameters of value 16, with an optimizer of learning rate 1 each, and a scaler whose scale doubles with every
/// update.
struct SharedGradients : ::testing::Test {
  Tensor a = full({2}, 16.0).requires_grad_(), b = full({2}, 16.0).requires_grad_();
  optim::SGD oa{std::vector<Tensor>{a}, optim::SGDOptions(1.0)}, ob{std::vector<Tensor>{b}, optim::SGDOptions(1.0)};
  amp::GradScaler scaler{amp::GradScalerOptions().init_scale(4).growth_interval(1)};
  Tensor flat = zeros({4});

  void backward(const Tensor& p, double slope = 1) { scaler.scale((p * slope).sum()).backward(); }
  void use_parts_of_flat() {
    a.mutable_grad() = flat.slice(0, 0, 2);
    b.mutable_grad() = flat.slice(0, 2, 4);
  }
  static float value(const Tensor& p) { return p[0].item<float>(); }
};

TEST_F(SharedGradients, OneTensorOfTwoParameters) {
  backward(a, 2);
  b.mutable_grad() = a.grad();  // as asynchronous actors share gradients with a central model
  scaler.step(ob);
  scaler.update();
  EXPECT_EQ(value(b), 14);
  backward(a, 3);  // without zero_grad()
  scaler.step(ob);
  EXPECT_EQ(value(b), 14 - 5);
  EXPECT_EQ(value(a.grad()), 5);
}

TEST_F(SharedGradients, TwoTensorsOnOneBlock) {
  a.mutable_grad() = zeros({2});
  b.mutable_grad() = a.grad().detach();
  for (int i = 1; i <= 4; ++i) {
    oa.zero_grad(/*set_to_none=*/false);
    backward(a);
    scaler.step(ob);
    scaler.update();
    EXPECT_EQ(value(b), 16 - i);
  }
}

TEST_F(SharedGradients, BlockOfPartsIsDividedAtEveryStep) {
  Tensor whole = full({4}, 16.0).requires_grad_();
  optim::SGD of_whole(std::vector<Tensor>{whole}, optim::SGDOptions(1.0));
  use_parts_of_flat();
  whole.mutable_grad() = flat;
  for (int i = 1; i <= 4; ++i) {
    oa.zero_grad(/*set_to_none=*/false);
    ob.zero_grad(/*set_to_none=*/false);
    scaler.scale((a + b).sum()).backward();
    scaler.step(of_whole);
    scaler.update();
    EXPECT_EQ(value(whole), 16 - i);
  }
}

TEST_F(SharedGradients, PartsHaveScalesOfTheirOwn) {
  use_parts_of_flat();
  for (int i = 1; i <= 4; ++i) {
    oa.zero_grad(/*set_to_none=*/false);
    ob.zero_grad(/*set_to_none=*/false);
    backward(a, 2);
    scaler.step(oa);
    scaler.update();
    backward(b, 3);
    scaler.step(ob);
    scaler.update();
    EXPECT_EQ(value(a), 16 - 2 * i);
    EXPECT_EQ(value(b), 16 - 3 * i);
  }
}

TEST_F(SharedGradients, ClippingPartsKeepsTheirScales) {
  use_parts_of_flat();
  scaler.scale((a + b).sum()).backward();
  nn::utils::clip_grad_value_({a, b}, 2);
  EXPECT_THROWS(oa.step(), StateError, "multiplied by");
  EXPECT_THROWS(ob.step(), StateError, "multiplied by");
  scaler.step(oa);
  EXPECT_EQ(value(a), 15.5);
}

TEST_F(SharedGradients, UnscalingThemAsATensorIsSeen) {
  use_parts_of_flat();
  scaler.scale((a + b).sum()).backward();
  scaler.unscale_({flat});
  oa.step();
  ob.zero_grad();
  backward(b);
  scaler.unscale_({b.grad().detach()});
  ob.step();
  EXPECT_EQ(value(a), 15);
  EXPECT_EQ(value(b), 15);
}

TEST_F(SharedGradients, GivenToBackwardAreKnownToBePartlyAssigned) {
  a.mutable_grad() = full({2}, 4.0);
  backward(a, 2);
  (b * 1.0).backward(a.grad());
  scaler.step(ob);
  EXPECT_EQ(value(b), 16 - 3);
  scaler.update();
  ob.zero_grad();
  (b * 1.0).backward(a.grad());
  EXPECT_THROWS(scaler.step(ob), StateError, "assigned", "zero_grad()");
  b.mutable_grad() = autograd::grad({b * 1.0}, {b}, {a.grad()})[0];
  EXPECT_THROWS(scaler.step(ob), StateError, "assigned", "zero_grad()");
}

TEST_F(SharedGradients, AssignedPartsOfOnePassAreKnown) {
  const auto add = [&] { autograd::backward({scaler.scale(b.sum()), b * 1.0}, {Tensor(), full({2}, 4.0)}); };
  add();
  scaler.step(ob);
  EXPECT_EQ(value(b), 16 - 2);
  ob.zero_grad();
  add();
  scaler.update();
  EXPECT_THROWS(scaler.step(ob), StateError, "assigned", "zero_grad()");
}

TEST_F(SharedGradients, UnscaledSumsThatArePartlyAssignedAreNotScaled) {
  backward(a);
  scaler.unscale_(oa);
  (a * 1.0).backward(full({2}, 1.0));
  backward(b);
  (b * 1.0).backward(a.grad());
  EXPECT_THROWS(scaler.step(ob), StateError, "different scales");
}

TEST_F(SharedGradients, ReplacedAfterUnscaleStayUnscaledInLaterSteps) {
  backward(a, 2);
  b.mutable_grad() = a.grad();
  scaler.unscale_(oa);
  a.grad().set_data(a.grad() * 2);
  scaler.step(oa);
  b.grad().mul_(2);
  scaler.step(ob);
  EXPECT_EQ(value(a), 16 - 4);
  EXPECT_EQ(value(b), 16 - 8);
}

TEST_F(SharedGradients, ExpandedGradientsOfOneElementAreDividedOnce) {
  const Tensor longer = full({5}, 16.0).requires_grad_();
  const std::vector<Tensor> grads = autograd::grad({scaler.scale(a.sum() + longer.sum())}, {a, longer});
  scaler.unscale_(grads);
  for (const Tensor& g : grads) EXPECT_EQ(value(g), 1);
}

TEST_F(SharedGradients, GradOfAnUnusedOutputIsUndefined) {
  const std::vector<Tensor> parts = (a * 2).split(1);
  const Tensor loss = scaler.scale(parts[0].sum());
  EXPECT_FALSE(autograd::grad({loss}, {parts[1]}, {}, false, false, /*allow_unused=*/true)[0].defined());
}

}  // namespace
}  // namespace tandem::testing
