// User-defined ops: outputs that are inputs, the number of gradients, running backward again.
#include "tandem/amp/custom_op.h"

#include <gtest/gtest.h>

#include "autograd/support.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

/// y = x itself; gx = factor * gy.
Tensor identity(const Tensor& x, double factor, amp::Cast cast = amp::Cast::keep) {
  return amp::custom_op<"identity">(
      cast,
      [factor](const Tensor& x) {
        return Result{x, {}, [factor](const Backward& b) -> Grads { return {b.grad() * factor}; }};
      },
      x);
}

// ---- an output that is an input

TEST(CustomOpIdentity, InputStaysALeaf) {
  const Tensor w = leaf({1, 2, 3});
  const Tensor y = identity(w, 10);
  EXPECT_FALSE(y.is_same(w));
  EXPECT_TRUE(w.is_leaf());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_EQ(y.const_data_ptr<float>(), w.const_data_ptr<float>());
  (y * 2 + w).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {21, 21, 21}));
}

TEST(CustomOpIdentity, InputKeepsItsHistory) {
  const Tensor w = leaf({1, 2});
  const Tensor h = w * 3, y = identity(h, 10);
  (h + y).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {33, 33}));
}

TEST(CustomOpIdentity, RecordsNothingUnderNoGradGuard) {
  const Tensor w = leaf({1, 2});
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(identity(w, 10).requires_grad());
  }
  {
    InferenceMode inference;
    identity(w, 10);
  }
  EXPECT_FALSE(w.impl().is_inference);
  (w * 2).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {2, 2}));
}

TEST(CustomOpIdentity, UsesOfACachedCastGetSeparateGradients) {
  const Tensor w = leaf({1, 2, 3});
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    const Tensor a = identity(w, 1, amp::Cast::lower), b = identity(w, 3, amp::Cast::lower);
    EXPECT_EQ(a.dtype(), kBFloat16);
    EXPECT_FALSE(a.is_same(b));
    (a * 2 + b).sum().backward();
    EXPECT_TRUE(equals(w.grad(), {5, 5, 5}));
    a.detach().zero_();  // not the memory in the cache
    EXPECT_TRUE(equals(identity(w, 1, amp::Cast::lower), {1, 2, 3}));
  }
  EXPECT_TRUE(w.is_leaf());
}

TEST(CustomOpIdentity, MayReturnATensorTwice) {
  const Tensor x = leaf({1, 2});
  const auto y = amp::custom_op_n<"twice">(
      amp::Cast::keep,
      [](const Tensor& x) {
        const Tensor y = x * 2;
        return Result{
            {y, y}, {}, [](const Backward& b) -> Grads { return {b.grad_or_zeros(0) * 2 + b.grad_or_zeros(1) * 20}; }};
      },
      x);
  (y[0] + y[1] * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {62, 62}));
}

TEST(CustomOpIdentity, MayReturnASavedInput) {
  const Tensor x = leaf({3});
  const Tensor y = amp::custom_op<"saves_itself">(
      amp::Cast::keep,
      [](const Tensor& x) {
        return Result{x, save(x), [](const Backward& b) -> Grads { return {b.grad() * b.saved(0)}; }};
      },
      x);
  const Tensor first = autograd::grad({y}, {x}, {}, true, true)[0];
  EXPECT_TRUE(equals(first, {3}));
  EXPECT_TRUE(equals(autograd::grad({first}, {x})[0], {1}));
}

TEST(CustomOpIdentity, CannotBeChangedInPlaceWhileRecording) {
  // PyTorch refuses it too: the view would take its history from the base, and the op's backward would be lost.
  const Tensor w = leaf({1, 2}), x = w * 2;
  EXPECT_THROWS(identity(w, 10).mul_(2), AutogradError, "mul_", "view of a leaf");
  EXPECT_THROWS(identity(x, 10).mul_(2), AutogradError, "mul_", "custom op", "clone()");
  const Tensor y = identity(x, 10);
  x.mul_(2);
  EXPECT_THROWS((y * 1), AutogradError, "identity", "changed in place", "clone()");
  const Tensor z = identity(x, 10).clone();
  z.mul_(2);
  z.sum().backward();
  EXPECT_TRUE(equals(w.grad(), {80, 80}));
}

TEST(CustomOpIdentity, MayReturnAViewOfTheInput) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
  const auto transposed = [](const Tensor& x) {
    return amp::custom_op<"transposed">(
        amp::Cast::keep,
        [](const Tensor& x) {
          return Result{x.t(), {}, [](const Backward& b) -> Grads { return {b.grad().t() * 10}; }};
        },
        x);
  };
  const Tensor y = transposed(x);
  EXPECT_THROWS(y.mul_(2), AutogradError, "leaf");
  EXPECT_THROWS(transposed(x * 1).mul_(2), AutogradError, "custom op");
  (y * tensor({{1.0, 2.0}, {3.0, 4.0}})).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {10, 30, 20, 40}));
}

TEST(CustomOpIdentity, ViewOfATemporaryIsAnOrdinaryResult) {
  const Tensor x = leaf({1, 2});
  const Tensor y = amp::custom_op<"reshaped">(
      amp::Cast::keep,
      [](const Tensor& x) {
        const Tensor y = (x * 2).exp().view({2, 1});
        return Result{y, save(y), [](const Backward& b) -> Grads { return {(b.grad() * b.saved(0) * 2).view({2})}; }};
      },
      x);
  const Tensor z = y * 1;
  y.mul_(0).add_(z);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "reshaped", "changed in place");
  const Tensor w = leaf({1, 2});
  const Tensor v = amp::custom_op<"halves">(
      amp::Cast::keep,
      [](const Tensor& x) {
        return Result{(x * 2).view({2, 1}), {}, [](const Backward& b) -> Grads { return {b.grad().view({2}) * 2}; }};
      },
      w);
  v.mul_(5);
  v[0].mul_(10);
  v.sum().backward();
  EXPECT_TRUE(equals(w.grad(), {100, 10}));
}

// ---- the number of gradients

Tensor wrong_count(const Tensor& x, const Tensor& z, size_t count) {
  return amp::custom_op<"wrong_count">(
      amp::Cast::keep,
      [count](const Tensor& x, const Tensor&) {
        return Result{x * 1, {}, [count](const Backward& b) -> Grads { return Grads(count, b.grad()); }};
      },
      x, z);
}

TEST(CustomOpGrads, MustBeOnePerInput) {
  const Tensor x = leaf({1, 2}), z = leaf({3, 4});
  EXPECT_THROWS(wrong_count(x, z, 1).sum().backward(), AutogradError, "wrong_count", "1 gradients", "2 inputs");
  EXPECT_THROWS(wrong_count(x, z, 3).sum().backward(), AutogradError, "wrong_count", "3 gradients", "2 inputs");
  EXPECT_THROWS(wrong_count(x, z, 0).sum().backward(), AutogradError, "0 gradients");
  EXPECT_FALSE(x.grad().defined());
  wrong_count(x, z, 2).sum().backward();
  EXPECT_TRUE(equals(z.grad(), {1, 1}));
}

TEST(CustomOpGrads, AbsentInputsCount) {
  const Tensor x = leaf({1, 2});
  wrong_count(x, Tensor(), 2).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {1, 1}));
  EXPECT_THROWS(wrong_count(x, Tensor(), 1).sum().backward(), AutogradError, "1 gradients", "2 inputs");
}

// ---- running backward again: only freed tensors prevent it

TEST(BackwardAgain, WorksThroughOpsWithoutSavedTensors) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x + 1;
  h.sum().backward();
  (h * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {4, 4}));
  const Tensor v = h.view({2, 1}).t().narrow(1, 0, 1);
  for (int i = 0; i < 3; ++i) v.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {7, 4}));
}

TEST(BackwardAgain, KeepsCapturedState) {
  const Tensor x = leaf({1, 2});
  const std::vector<double> factors(100, 5);
  const Tensor y = amp::custom_op<"captures">(
      amp::Cast::keep,
      [&](const Tensor& x) {
        return Result{x * 5, save(Tensor()),
                      [factors](const Backward& b) -> Grads { return {b.grad() * factors.at(99)}; }};
      },
      x);
  const Tensor loss = y.sum();
  for (int i = 0; i < 3; ++i) loss.backward();
  EXPECT_TRUE(equals(x.grad(), {15, 15}));
}

TEST(BackwardAgain, ThroughFreedTensorsIsRefused) {
  const Tensor x = leaf({1, 2});
  const Tensor h = (x * x) + 1;
  h.sum().backward();
  EXPECT_THROWS((h * 3).sum().backward(), AutogradError, "mul", "retain_graph");
  EXPECT_THROWS((h * 3).sum().backward(), AutogradError, "mul", "retain_graph");
  EXPECT_TRUE(equals(x.grad(), {2, 4}));
}

TEST(BackwardAgain, InPlaceOpsOnViews) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x + 0;
  y.narrow(0, 0, 2).add_(1);
  const Tensor loss = y.sum();
  loss.backward();
  loss.backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2, 2}));
}

}  // namespace
}  // namespace tandem::testing
