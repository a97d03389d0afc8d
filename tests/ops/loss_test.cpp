// Losses: error messages, dtypes, memory formats and second derivatives. Values are compared with PyTorch through
// tests/cases.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"
#include "tandem/base/warn.h"

namespace tandem {
namespace {

using namespace testing;

class Loss : public OpTest {};

// ---- classification

TEST_F(Loss, ClassLossesRefuseBadInput) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = randn({4, 3}), t = classes({0, 1, 2, 0});
  EXPECT_THROWS(nll_loss(Tensor(), t), StateError, "nll_loss: x", "undefined");
  EXPECT_THROWS(nll_loss(x, Tensor()), StateError, "nll_loss: target", "undefined");
  EXPECT_THROWS(nll_loss(scalar_tensor(1.0), t), ShapeError, "nll_loss: x is [] f32");
  EXPECT_THROWS(nll_loss(randn({4, 0}), t), ShapeError, "nll_loss: ", "no classes");
  EXPECT_THROWS(nll_loss(x, classes({0, 1})), ShapeError, "nll_loss: x is [4, 3] f32", "[4]", "[2] i64");
  EXPECT_THROWS(nll_loss(x, t.to(kFloat)), DTypeError, "nll_loss: target", "f32", "i64");
  EXPECT_THROWS(nll_loss(x, t, ones({4})), ShapeError, "nll_loss: weight is [4] f32", "[3]");
  EXPECT_THROWS(nll_loss(x, t, ones({3}, kLong)), DTypeError, "nll_loss: weight", "i64");
  EXPECT_THROWS(nll_loss(x.to(kLong), t), DTypeError, "nll_loss: x", "i64");
  EXPECT_THROWS(nll_loss(x, classes({0, 1, 3, 0})), IndexError, "3");
  EXPECT_THROWS(cross_entropy(x, classes({0, 1, -5, 0})), IndexError, "-5");
  EXPECT_THROWS(cross_entropy(Tensor(), t), StateError, "cross_entropy: x");
  EXPECT_THROWS(cross_entropy(x, Tensor()), StateError, "cross_entropy: target");
  EXPECT_THROWS(cross_entropy(x, classes({0})), ShapeError, "cross_entropy: x is [4, 3]", "[1] i64");
  EXPECT_THROWS(cross_entropy(x, t.to(kFloat)), ShapeError, "cross_entropy: target is [4] f32", "i64");
  EXPECT_THROWS(cross_entropy(x, x, {}, LossReduction::Mean, 1), StateError, "cross_entropy: ignore_index = 1");
  EXPECT_THROWS(cross_entropy(x, t, {}, LossReduction::Mean, -100, 1.5), StateError, "label_smoothing = 1.5");
}

TEST_F(Loss, IgnoredTargetsCountNeitherWay) {
  const Tensor x = tensor({{-1.0, -2.0}, {-kInf, -3.0}, {-5.0, -7.0}}).requires_grad_(), t = classes({1, -100, 0});
  const Tensor y = nll_loss(x, t);
  EXPECT_EQ(y.item<double>(), 3.5);
  y.backward();
  EXPECT_TRUE(near(x.grad(), tensor({{0.0, -0.5}, {0.0, 0.0}, {-0.5, 0.0}}), kExact));
  x.mutable_grad() = {};
  const Tensor nothing = nll_loss(x, full({3}, -100, kLong));
  EXPECT_TRUE(std::isnan(nothing.item<double>()));
  nothing.backward();
  EXPECT_TRUE(near(x.grad(), zeros({3, 2}), kExact));
}

TEST_F(Loss, ClassLossesUnderAutocast) {
  const Tensor x = leaf({4, 3}, kBFloat16), t = classes({0, 1, 2, 0});
  EXPECT_EQ(cross_entropy(x, t).dtype(), kBFloat16);
  const Tensor exact = cross_entropy(x.detach().to(kDouble), t);
  amp::AutocastGuard autocast(device_type());
  const Tensor loss = cross_entropy(x, t);
  EXPECT_EQ(loss.dtype(), kFloat);
  EXPECT_TRUE(near(loss, exact, tolerance(kFloat, 12)));
  EXPECT_EQ(nll_loss(x, t).dtype(), kFloat);
  {
    amp::PolicyGuard cpu(amp::torch_cpu_policy());
    EXPECT_EQ(cross_entropy(x, t).dtype(), kFloat);
    EXPECT_TRUE(near(cross_entropy(x, t), exact, tolerance(kFloat, 12)));
  }
  loss.backward();
  EXPECT_EQ(x.grad().dtype(), kBFloat16);
}

TEST_F(Loss, ClassLossDerivatives) {
  const Tensor t = classes({2, 0, 1, 2}), w = rand({3}, kDouble).add(0.5);
  for (LossReduction r : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
    check_twice([=](In v) -> Out { return {nll_loss(v[0].square(), t, w, r, 0)}; }, {f64({4, 3})});
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], t, w, r, 0, 0.2)}; }, {f64({4, 3})});
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], softmax(v[1], 1), w, r, -100, 0.2)}; },
                {f64({4, 3}), f64({4, 3})});
  }
  check_twice([=](In v) -> Out { return {cross_entropy(v[0], t.view({2, 2}))}; }, {f64({2, 3, 2})});
  check_twice([=](In v) -> Out { return {cross_entropy(v[0], t.select(0, 0), {}, LossReduction::None)}; }, {f64({3})});
}

constexpr LossReduction kReductions[] = {LossReduction::None, LossReduction::Mean, LossReduction::Sum};

TEST_F(Loss, CrossEntropyIsNllLossOfLogSoftmax) {
  const Tensor t = classes({2, 0, 1, 2, 0, 1}), w = rand({3}).add(0.5);
  for (const Tensor& x : {leaf({6, 3}), leaf({3, 6}).t(), leaf({2, 3, 3}), leaf({6, 3}, kHalf)}) {
    const Tensor target = x.dim() == 2 ? t : t.view({2, 3});
    for (const Tensor& weight : {Tensor(), w, w.to(kDouble), w.to(kHalf)}) {
      for (LossReduction r : kReductions) {
        const Tensor wide = x.to(kFloat);
        const Tensor fused = cross_entropy(wide, target.to(kInt), weight, r, 1);
        const Tensor composed = nll_loss(log_softmax(wide, 1), target, weight, r, 1);
        EXPECT_TRUE(near(fused, composed, tolerance(kFloat, 12)));
        const Tensor g = randn(fused.sizes());
        const auto gradient = [&](const Tensor& y, bool create_graph) {
          return autograd::grad({y}, {x}, {g}, true, create_graph)[0];
        };
        const Tensor gx = gradient(composed, false);
        EXPECT_TRUE(near(gradient(fused, false), gx, tolerance(x.dtype(), 12)));
        EXPECT_TRUE(near(gradient(fused, true), gx, tolerance(x.dtype(), 12)));
      }
    }
  }
}

TEST_F(Loss, CrossEntropySecondDerivatives) {
  const Tensor t = classes({2, 0, 1, 2}), w = rand({3}, kDouble).add(0.5);
  for (LossReduction r : kReductions) {
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], t, w, r, 0)}; }, {f64({4, 3})});
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], t.view({2, 2}), {}, r)}; }, {f64({2, 3, 2})});
  }
}

TEST_F(Loss, CrossEntropyOfIgnoredTargets) {
  const Tensor x = leaf({3, 2}), t = full({3}, -100, kLong);
  for (bool create_graph : {false, true}) {
    const Tensor y = cross_entropy(x, t);
    EXPECT_TRUE(std::isnan(y.item<double>()));
    EXPECT_TRUE(near(autograd::grad({y}, {x}, {}, true, create_graph)[0], zeros({3, 2}), kExact));
  }
  EXPECT_EQ(cross_entropy(x, t, {}, LossReduction::Sum).item<double>(), 0);
  EXPECT_TRUE(std::isnan(cross_entropy(zeros({0, 2}), zeros({0}, kLong)).item<double>()));
}

TEST_F(Loss, CrossEntropyUnderAutocastReadsLogitsAsTheyAre) {
  const Tensor x = leaf({5, 3}, kBFloat16), t = classes({0, 1, 2, 0, 1}), wide = x.detach().to(kFloat).requires_grad_();
  cross_entropy(wide, t).backward();
  amp::AutocastGuard autocast(device_type());
  cross_entropy(x, t).backward();
  EXPECT_TRUE(near(x.grad(), wide.grad().to(kBFloat16), kExact)) << "rounded once";
}

TEST_F(Loss, CrossEntropyKeepsItsLogits) {
  const Tensor x = leaf({2, 3}), z = x * 2, loss = cross_entropy(z, classes({0, 1}));
  z.mul_(2);
  EXPECT_THROWS(loss.backward(), AutogradError, "cross_entropy", "changed in place");
}

/// The loss of `logits` as f64 and as f16, and their gradients.
void expect_same_in_f16(const Tensor& logits, const std::function<Tensor(const Tensor&)>& loss) {
  const Tensor wide = logits.to(kDouble).requires_grad_(), low = logits.to(kHalf).requires_grad_();
  const Tensor expected = loss(wide), y = loss(low);
  EXPECT_EQ(y.dtype(), kHalf);
  EXPECT_TRUE(near(y, expected, tolerance(kHalf, 4, 4)));
  for (const bool create_graph : {false, true}) {
    // The gradients of a mean over so many rows are too small for f16 without a scale.
    const auto gradient = [&](const Tensor& y, const Tensor& x) {
      return autograd::grad({y}, {x}, {full_like(y, 32768)}, true, create_graph)[0];
    };
    EXPECT_TRUE(near(gradient(y, low), gradient(expected, wide), tolerance(kHalf, 4, 4)));
  }
}

TEST_F(Loss, MeansCountMoreTargetsThanF16Holds) {
  constexpr int64_t n = 66000;
  const Tensor x = randn({n, 2}), t = gt(rand({n}), 0.5).to(kLong), p = softmax(randn({n, 2}), 1).to(kHalf);
  constexpr LossReduction mean = LossReduction::Mean;
  for (const Tensor& weight : {Tensor(), tensor({0.5, 4.0}).to(kHalf)}) {
    expect_same_in_f16(x, [&](const Tensor& x) { return cross_entropy(x, t, weight); });
    expect_same_in_f16(x, [&](const Tensor& x) { return cross_entropy(x, t, weight, mean, -100, 0.1); });
  }
  expect_same_in_f16(x, [&](const Tensor& x) { return cross_entropy(x, p.to(x.dtype()), {}, mean, -100, 0.1); });
  expect_same_in_f16(x, [&](const Tensor& x) { return nll_loss(log_softmax(x, 1), t); });
  expect_same_in_f16(x, [&](const Tensor& x) { return mse_loss(x, p.to(x.dtype())); });
  expect_same_in_f16(x, [&](const Tensor& x) { return binary_cross_entropy_with_logits(x, p.to(x.dtype())); });
  expect_same_in_f16(x, [&](const Tensor& x) { return binary_cross_entropy(sigmoid(x), p.to(x.dtype())); });
}

TEST_F(Loss, SmoothingSumsMoreClassesThanF16Holds) {
  const Tensor x = randn({2, 50000}), t = classes({3, 40000});  // the sum of a row's log-probabilities is about -5e5
  for (LossReduction r : kReductions) {
    const Tensor expected = cross_entropy(x.to(kDouble), t, {}, r, -100, 0.1);
    EXPECT_TRUE(near(cross_entropy(x.to(kHalf), t, {}, r, -100, 0.1), expected, tolerance(kHalf, 4, 4)));
  }
}

// ---- regression

TEST_F(Loss, MseRefusesBadInput) {
  EXPECT_THROWS(mse_loss(Tensor(), randn({2})), StateError, "mse_loss: x", "undefined");
  EXPECT_THROWS(mse_loss(randn({2}), Tensor()), StateError, "mse_loss: target", "undefined");
  EXPECT_THROWS(mse_loss(randn({2}), randn({3})), ShapeError, "mse_loss", "[2]", "[3]");
  EXPECT_THROWS(mse_loss(randn({2}), ones({2}, kLong)), DTypeError, "mse_loss: target", "i64");
  EXPECT_THROWS(mse_loss_backward(randn({2}), randn({2}), randn({2}), LossReduction::Mean), ShapeError,
                "mse_loss_backward: gy");
}

TEST_F(Loss, MseDerivatives) {
  for (LossReduction r : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
    check_twice([r](In v) -> Out { return {mse_loss(v[0], v[1], r)}; }, {f64({3, 2}), f64({3, 2})});
    check_twice([r](In v) -> Out { return {mse_loss(v[0], v[1], r)}; }, {f64({3, 1}), f64({2})});  // broadcast
  }
}

TEST_F(Loss, MseWarnsWhenSizesBroadcast) {
  std::string warning;
  const auto previous = set_warning_handler([&](const std::string& message) { warning += message; });
  mse_loss(randn({7, 1}), randn({7}));
  set_warning_handler(previous);
  EXPECT_NE(warning.find("mse_loss: x is [7, 1] f32, target is [7] f32"), std::string::npos) << warning;
}

TEST_F(Loss, MseOfLowInputsIsF32UnderAutocast) {
  const Tensor x = leaf({64, 8}, kHalf), t = randn({64, 8});
  amp::AutocastGuard autocast(device_type(), kHalf);
  const Tensor loss = mse_loss(x, t);
  EXPECT_EQ(loss.dtype(), kFloat);
  (loss * 65536.0).backward();  // the gradient of the loss would be inf in f16
  EXPECT_EQ(x.grad().dtype(), kHalf);
  const Tensor expected = (x.detach().to(kDouble) - t.to(kDouble)) * (65536.0 * 2 / 512);
  EXPECT_TRUE(near(x.grad(), expected, tolerance(kHalf, 1, 1, 256)));
}

TEST_F(Loss, MseOfF16DoesNotOverflowInItsSum) {
  const Tensor x = full({256}, 300.0, kHalf), t = zeros({256}, kHalf);
  EXPECT_TRUE(std::isinf(mse_loss(x, t, LossReduction::Sum).item<double>()));
  EXPECT_TRUE(std::isinf(mse_loss(x, t, LossReduction::None)[0].item<double>()));
  EXPECT_EQ(mse_loss(full({256}, 200.0, kHalf), t).item<double>(), 40000.0);
}

TEST_F(Loss, BinaryCrossEntropyRefusesBadInput) {
  const Tensor x = rand({2, 3});
  EXPECT_THROWS(binary_cross_entropy_with_logits(Tensor(), x), StateError, "binary_cross_entropy_with_logits: x");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, rand({2})), ShapeError,
                "binary_cross_entropy_with_logits: ", "[2, 3] f32", "[2] f32");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, ones({2, 3}, kLong)), DTypeError, "target", "i64");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, x, rand({4})), ShapeError, "binary_cross_entropy_with_logits");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, x, {}, rand({2, 2, 3})), ShapeError, "pos_weight is [2, 2, 3]");
  EXPECT_THROWS(binary_cross_entropy(Tensor(), x), StateError, "binary_cross_entropy: x");
  EXPECT_THROWS(binary_cross_entropy(x, rand({3, 2})), ShapeError, "binary_cross_entropy: ", "[3, 2]");
  EXPECT_THROWS(binary_cross_entropy(x, x, ones({3}, kInt)), DTypeError, "binary_cross_entropy: weight", "i32");
  amp::AutocastGuard autocast(device_type());
  EXPECT_THROWS(binary_cross_entropy(x, x), Error, "binary_cross_entropy", "binary_cross_entropy_with_logits");
}

TEST_F(Loss, BinaryCrossEntropyDerivatives) {
  const Tensor weight = rand({3}, kDouble).add(0.5);
  check_twice([](In v) -> Out { return {binary_cross_entropy_with_logits(v[0], v[1])}; }, {f64({2, 3}), f64({2, 3})});
  check_twice(
      [=](In v) -> Out { return {binary_cross_entropy_with_logits(v[0], v[1], v[2], v[3], LossReduction::Sum)}; },
      {f64({2, 3}), f64({2, 3}), f64({3}), f64({3})});
  const auto probability = [] { return rand({2, 3}, kDouble).mul(0.8).add(0.1).requires_grad_(); };
  check_twice([=](In v) -> Out { return {binary_cross_entropy(v[0], v[1], weight, LossReduction::None)}; },
              {probability(), probability()});
  // Far from 0 the formula neither overflows nor loses precision.
  const Tensor x = tensor({-1000.0, 1000.0}), t = tensor({1.0, 0.0});
  EXPECT_TRUE(near(binary_cross_entropy_with_logits(x, t, {}, {}, LossReduction::None), full({2}, 1000.0), kExact));
  EXPECT_TRUE(
      near(binary_cross_entropy_with_logits(x, t, {}, ones({2}), LossReduction::None), full({2}, 1000.0), kExact));
  EXPECT_TRUE(near(binary_cross_entropy(tensor({0.0}), tensor({1.0})), tensor(100.0), kExact));
}

}  // namespace
}  // namespace tandem
