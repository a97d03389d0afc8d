// The tensor in `.grad`: its own memory, in the leaf's layout, also after the user has assigned `.grad`.
#include <gtest/gtest.h>

#include "autograd/support.h"
#include "support/device.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

/// ((a + b) * k).sum(): both leaves receive the same gradient tensor.
Tensor loss(const Tensor& a, const Tensor& b) { return ((a + b) * tensor({2.0, 2.0})).sum(); }

class OwnGrad : public ::testing::TestWithParam<bool> {};  // the parameter: create_graph

TEST_P(OwnGrad, GradsOfLeavesShareNoMemory) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  loss(a, b).backward({}, true, GetParam());
  EXPECT_FALSE(a.grad().is_same(b.grad()));
  {
    NoGradGuard no_grad;
    a.grad().mul_(5);
  }
  EXPECT_TRUE(equals(a.grad(), {10, 10}));
  EXPECT_TRUE(equals(b.grad(), {2, 2}));
  a.mutable_grad() = b.mutable_grad() = Tensor();
}

TEST(AccumulateGrad, LeafFrozenSinceTheForwardPassGetsNoGradient) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor y = loss(a, b);
  a.set_requires_grad(false);
  y.backward();
  EXPECT_FALSE(a.grad().defined());
  EXPECT_TRUE(equals(b.grad(), {2, 2}));
}

TEST_P(OwnGrad, SecondPassAddsOnce) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  loss(a, b).backward({}, true, GetParam());
  loss(a, b).backward();
  EXPECT_TRUE(equals(a.grad(), {4, 4}));
  EXPECT_TRUE(equals(b.grad(), {4, 4}));
  a.mutable_grad() = b.mutable_grad() = Tensor();
}

TEST_P(OwnGrad, IsDenseInTheLeafsLayout) {
  const Tensor x = ones({2, 3}).requires_grad_();
  x.sum().backward({}, true, GetParam());  // an expanded gradient
  EXPECT_EQ(to_string(x.grad().strides()), "[3, 1]");
  const Tensor t = empty_strided({2, 3}, {1, 2}).fill_(1).requires_grad_();
  (t.sum() + t.t().contiguous().sum()).backward({}, true, GetParam());
  EXPECT_EQ(to_string(t.grad().strides()), "[1, 2]");
  const Tensor wide = ones({1}).expand({3}).clone().as_strided({3}, {0}).detach().requires_grad_();
  (wide * 2).sum().backward({}, true, GetParam());
  EXPECT_EQ(to_string(wide.grad().strides()), "[1]");
  EXPECT_TRUE(equals(wide.grad(), {2, 2, 2}));
}

TEST_P(OwnGrad, DoesNotAliasTheSeed) {
  const Tensor x = leaf({1, 2}), seed = ones({2});
  x.backward(seed, true, GetParam());
  EXPECT_FALSE(x.grad().is_same(seed));
  x.grad().mul_(5);
  EXPECT_TRUE(equals(seed, {1, 1}));
}

TEST_P(OwnGrad, RetainedGradsShareNoMemory) {
  const Tensor x = leaf({1, 2});
  const Tensor a = x * 1, b = x * 1;
  a.retain_grad();
  b.retain_grad();
  (a + b).sum().backward({}, true, GetParam());
  EXPECT_FALSE(a.grad().is_same(b.grad()));
  EXPECT_EQ(to_string(a.grad().strides()), "[1]");
  {
    NoGradGuard no_grad;
    a.grad().mul_(5);
  }
  EXPECT_TRUE(equals(b.grad(), {1, 1}));
  EXPECT_TRUE(equals(x.grad(), {2, 2}));
}

TEST_P(OwnGrad, ExpandedUserGradIsReplaced) {
  const Tensor x = leaf({1, 2, 3}), one = ones({1});
  x.mutable_grad() = one.expand({3});
  (x * tensor({1.0, 2.0, 3.0})).sum().backward({}, true, GetParam());
  EXPECT_TRUE(equals(x.grad(), {2, 3, 4}));
  EXPECT_TRUE(equals(one, {1}));
}

INSTANTIATE_TEST_SUITE_P(CreateGraph, OwnGrad, ::testing::Bool());

TEST(OwnGradGraph, CopyIsRecorded) {
  const Tensor a = leaf({2, 3}), b = leaf({5, 7});
  ((a + b) * (a + b) * (a + b)).sum().backward({}, true, true);  // 3 (a + b)^2
  const Tensor g = autograd::grad({(a.grad() + b.grad() * 2).sum()}, {a})[0];
  EXPECT_TRUE(equals(g, {3 * 6 * 7, 3 * 6 * 10}));
  a.mutable_grad() = b.mutable_grad() = Tensor();
}

// ---- a user-assigned .grad

TEST(UserGrad, IsAccumulatedInto) {
  const Tensor x = leaf({1, 2});
  x.mutable_grad() = tensor({10.0, 20.0});
  (x * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {13, 23}));
}

TEST(UserGrad, MayBeAViewOfAFlatBuffer) {
  const Tensor x = leaf({1, 2}), flat = zeros({2, 3});
  x.mutable_grad() = flat.select(1, 1);
  (x * 3).sum().backward();
  EXPECT_TRUE(equals(flat, {0, 3, 0, 0, 3, 0}));
}

TEST(UserGrad, MustMatchTheLeaf) {
  const Tensor x = leaf({1, 2, 3});
  const auto pass = [&](const Tensor& grad, bool create_graph) {
    x.mutable_grad() = grad;
    (x * 2).sum().backward({}, true, create_graph);
  };
  for (bool create_graph : {false, true}) {
    EXPECT_THROWS(pass(zeros({1}), create_graph), AutogradError, ".grad", "[1] f32 on " + device_name(),
                  "[3] f32 on " + device_name());
    EXPECT_THROWS(pass(zeros({3}, kDouble), create_graph), AutogradError, "[3] f64 on " + device_name(),
                  "[3] f32 on " + device_name());
    EXPECT_THROWS(pass(zeros({3}, kHalf), create_graph), AutogradError, "[3] f16", "undefined");
    EXPECT_NO_THROW(pass(zeros({3}), create_graph));
  }
}

TEST(UserGrad, ErrorNamesALeafChangedBySetData) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = (x * 2).sum();
  x.set_data(tensor({1.0, 2.0}));
  EXPECT_THROWS(y.backward(), AutogradError, "[3] f32 on " + device_name(), "[2] f32 on " + device_name(), "set_data");
}

}  // namespace
}  // namespace tandem::testing
