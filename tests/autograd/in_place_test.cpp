// In-place ops by PyTorch's rules: version checks, histories of views and bases, errors.
#include <gtest/gtest.h>

#include "autograd/support.h"
#include "support/device.h"
#include "tandem/autograd/engine.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

using indexing::None;
using indexing::Slice;

/// [[1, 2, 3], [4, 5, 6]] times 1: a non-leaf, which may be changed in place.
struct Matrix {
  Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).requires_grad_();
  Tensor y = x * 1;
};

// ---- leaves

TEST(InPlace, LeafThatRequiresGradIsRefused) {
  const Tensor x = leaf({1, 2});
  EXPECT_THROWS(x.mul_(2), AutogradError, "mul_", "leaf", "[2]", "NoGradGuard");
  EXPECT_THROWS(x.zero_(), AutogradError, "leaf");
  EXPECT_TRUE(equals(x, {1, 2}));
  {
    NoGradGuard no_grad;
    x.mul_(2);
  }
  EXPECT_TRUE(equals(x, {2, 4}));
  EXPECT_TRUE(x.is_leaf());
}

TEST(InPlace, ViewOfALeafIsRefused) {
  const Tensor x = leaf({1, 2});
  EXPECT_THROWS(x[0].mul_(2), AutogradError, "mul_", "leaf");
  EXPECT_THROWS(x.index_put_({0}, 5), AutogradError, "leaf");
  NoGradGuard no_grad;
  x[0].mul_(2);
  EXPECT_TRUE(equals(x, {2, 2}));
}

TEST(InPlace, ExpandedTensorsAreRefused) {
  const Tensor x = ones({3, 1}).expand({3, 4});
  EXPECT_THROWS(x.add_(1), ShapeError, "add_", "clone");
}

TEST(InPlace, ResultMustMatchTheTensor) {
  const Tensor x = ones({3}), n = ones({3}, kLong);
  EXPECT_THROWS(x.add_(ones({2, 3})), ShapeError, "add_", "[3]");
  EXPECT_THROWS(n.add_(0.5), DTypeError, "add_", "i64");
  EXPECT_THROWS(n.div_(2), DTypeError, "div_");
}

// ---- versions

TEST(Versions, CountWrites) {
  const Tensor x = ones({4});
  const uint64_t before = x._version();
  x.add_(1);
  EXPECT_EQ(x._version(), before + 1);
  const Tensor view = x.slice(0, 0, 2);
  EXPECT_EQ(view._version(), x._version());
  view.mul_(2);
  EXPECT_EQ(x._version(), before + 2);
  x.data_ptr<float>();
  EXPECT_GT(x._version(), before + 2);
  const uint64_t read = x._version();
  x.const_data_ptr<float>();
  EXPECT_EQ(x._version(), read);
}

TEST(Versions, ChangedSavedInputIsAnError) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 2, y = (h * h).sum();
  h.add_(1);
  EXPECT_THROWS(y.backward(), AutogradError, "mul", "[2]", "f32", "changed in place", "clone");
  EXPECT_FALSE(x.grad().defined());
}

TEST(Versions, ChangedSavedOutputIsAnError) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x.exp();
  y.add_(1);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "exp", "changed in place");
}

TEST(Versions, ChangedSavedLeafIsAnError) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = (x * w).sum();
  {
    NoGradGuard no_grad;
    w.add_(1);  // an optimizer step between forward and backward
  }
  EXPECT_THROWS(y.backward(), AutogradError, "mul", "changed in place");
}

TEST(Versions, ChangeThroughAViewIsDetected) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 2, y = (h * h).sum();
  h[0].mul_(2);
  EXPECT_THROWS(y.backward(), AutogradError, "mul", "changed in place");
}

TEST(Versions, ChangedBaseInvalidatesASavedView) {
  Matrix m;
  const Tensor row = m.y[0], z = (row * row).sum();
  m.y.mul_(2);
  EXPECT_THROWS(z.backward(), AutogradError, "mul", "changed in place");
}

TEST(Versions, ChangeThroughAMutablePointerIsDetected) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 2, y = (h * h).sum();
  h.data_ptr<float>()[0] = 7;
  EXPECT_THROW(y.backward(), AutogradError);
}

TEST(Versions, UnsavedTensorsMayChange) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 2, y = (h + 1).sum();
  h.mul_(100);
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2}));
}

TEST(Versions, EverythingMayChangeAfterBackward) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 2, y = (h * h).sum();
  y.backward();
  EXPECT_NO_THROW(h.add_(1));
}

// ---- histories

TEST(InPlaceHistory, ChainedCalls) {
  const Tensor x = leaf({3});
  Tensor y = x * 2;
  y.mul_(x).add_(x).mul_(5);  // 5 (2 x^2 + x)
  EXPECT_TRUE(equals(y, {105}));
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {65}));
}

TEST(InPlaceHistory, AssignmentOperators) {
  const Tensor x = leaf({3});
  Tensor y = x * 2;
  y += x;
  y *= x;
  y -= 1;
  y /= 2;  // (3 x^2 - 1) / 2
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {9}));
}

TEST(InPlaceHistory, OldValuesKeepTheirHistory) {
  const Tensor x = leaf({3});
  const Tensor y = x * 2, before = y + 0;
  y.mul_(10);
  before.backward({}, true);
  EXPECT_TRUE(equals(x.grad(), {2}));
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {22}));
}

TEST(InPlaceHistory, TensorWithoutHistoryTakesTheOperandsHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor sum = zeros({2});
  for (int i = 1; i <= 3; ++i) sum.add_(x * i);
  EXPECT_TRUE(sum.requires_grad());
  EXPECT_FALSE(sum.is_leaf());
  sum.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {6, 6}));
}

TEST(InPlaceHistory, ZeroAndFillStopTheGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  y.zero_();
  y.add_(x * 3);
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {3, 3}));
}

TEST(InPlaceHistory, CopyTakesTheSourcesHistory) {
  const Tensor x = leaf({1, 2}), s = leaf({3}, kDouble);
  const Tensor y = x * 2;
  y.copy_(s * 5);
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {0, 0}) || !x.grad().defined());
  EXPECT_EQ(s.grad().dtype(), kDouble);
  EXPECT_TRUE(equals(s.grad(), {10}));
}

TEST(InPlaceHistory, NothingIsRecordedUnderNoGradGuard) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x + 1;
  {
    NoGradGuard no_grad;
    y.mul_(100);
  }
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {1, 1}));
}

TEST(InPlaceHistory, ViewsTakenWithoutHistoryHaveNone) {
  const Tensor x = ones({2}), of_plain = x[0];
  x.requires_grad_();
  EXPECT_FALSE(of_plain.requires_grad());
  const Tensor y = x * 2;
  Tensor without;
  {
    NoGradGuard no_grad;
    without = y[0];
  }
  EXPECT_FALSE(without.requires_grad());
}

TEST(InPlaceHistory, ViewsOfSplitOutputsMayBeChanged) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  y.split(2)[0].view({1, 2}).mul_(2);
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2, 1, 1}));
}

TEST(InPlaceHistory, OperandMayBeTheTensorItself) {
  const Tensor x = leaf({3});
  std::weak_ptr<TensorImpl> weak;
  {
    const Tensor y = x * 2;
    y.add_(y);
    y.backward();
    EXPECT_TRUE(equals(x.grad(), {4}));
    const Tensor z = x * 2;
    z.mul_(z);  // PyTorch detects the overwritten operand in backward
    weak = z.impl_ptr();
    try {
      EXPECT_TRUE(equals(autograd::grad({z}, {x})[0], {24}));
    } catch (const AutogradError& error) {
      EXPECT_NE(std::string(error.what()).find("changed in place"), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(weak.expired());
}

TEST(InPlaceHistory, HooksStayWithTheNewValue) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  y.mul_(5);
  double seen = 0;
  y.register_hook([&](const Tensor& g) {
    seen = g.item<double>();
    return Tensor();
  });
  (y * 7).backward();
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(equals(x.grad(), {105}));
}

// ---- views

TEST(InPlaceViews, ARowOfTheBase) {
  Matrix m;
  m.y[0].mul_(10);
  EXPECT_TRUE(equals(m.y, {10, 20, 30, 4, 5, 6}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {10, 10, 10, 1, 1, 1}));
}

TEST(InPlaceViews, AColumnAndAStep) {
  Matrix m;
  m.y.select(1, 2).mul_(10);
  m.y.slice(1, 0, {}, 2).add_(1);
  EXPECT_TRUE(equals(m.y, {2, 2, 31, 5, 5, 61}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {1, 1, 10, 1, 1, 10}));
}

TEST(InPlaceViews, AViewOfAView) {
  Matrix m;
  m.y.transpose(0, 1)[2].slice(0, 1, 2).mul_(10);
  EXPECT_TRUE(equals(m.y, {1, 2, 3, 4, 5, 60}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {1, 1, 1, 1, 1, 10}));
}

TEST(InPlaceViews, OperandMayRequireGrad) {
  Matrix m;
  const Tensor w = leaf({7, 8, 9});
  m.y[1].mul_(w);
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {1, 1, 1, 7, 8, 9}));
  EXPECT_TRUE(equals(w.grad(), {4, 5, 6}));
}

TEST(InPlaceViews, ViewHasTheNewHistory) {
  Matrix m;
  const Tensor row = m.y[0];
  row.mul_(10);
  row.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {10, 10, 10, 0, 0, 0}));
}

TEST(InPlaceViews, ViewFollowsAChangeOfTheBase) {
  Matrix m;
  const Tensor row = m.y[0];
  m.y.mul_(10);
  EXPECT_TRUE(equals(row, {10, 20, 30}));
  row.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {10, 10, 10, 0, 0, 0}));
}

TEST(InPlaceViews, ViewFollowsAChangeThroughAnotherView) {
  Matrix m;
  const Tensor row = m.y[0], column = m.y.select(1, 0);
  column.mul_(10);
  row.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {10, 1, 1, 0, 0, 0}));
}

TEST(InPlaceViews, AlternatingChangesOfBaseAndViews) {
  Matrix m;
  const Tensor row = m.y[0];
  row.mul_(2);
  m.y.mul_(3);
  row.mul_(5);
  m.y[1].add_(1);
  EXPECT_TRUE(equals(m.y, {30, 60, 90, 13, 16, 19}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {30, 30, 30, 3, 3, 3}));
}

TEST(InPlaceViews, OfABaseWithoutHistory) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor base = zeros({2, 3});
  const Tensor row = base[0];
  base[1].add_(x);
  EXPECT_TRUE(base.requires_grad());
  EXPECT_TRUE(row.requires_grad());  // because of its base
  (base * 2).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2, 2}));
}

TEST(InPlaceViews, TransposedBaseKeepsItsLayout) {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).requires_grad_();
  const Tensor y = x.t().clone();  // strides 1, 3
  y[2].mul_(10);
  EXPECT_TRUE(equals(y, {1, 4, 2, 5, 30, 60}));
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {1, 1, 10, 1, 1, 10}));
}

TEST(InPlaceViews, HigherDerivatives) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x;
  y[0].mul_(y[1].detach().clone());  // 9 x0^2, x1^2
  const Tensor first = autograd::grad({(y * y).sum()}, {x}, {}, {}, true)[0];
  EXPECT_TRUE(equals(first, {4 * 81 * 8, 4 * 27}));
  const Tensor second = autograd::grad({first.sum()}, {x})[0];
  EXPECT_TRUE(equals(second, {12 * 81 * 4, 12 * 9}));
}

TEST(InPlaceViews, DetachedViewsCarryNoHistory) {
  Matrix m;
  m.y.detach()[0].mul_(10);
  EXPECT_TRUE(equals(m.y, {10, 20, 30, 4, 5, 6}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {1, 1, 1, 1, 1, 1}));
}

// ---- index_put_

TEST(IndexPut, SendsTheGradientToTheValue) {
  Matrix m;
  const Tensor value = leaf({7, 8, 9});
  m.y.index_put_({1, Slice()}, value * 2);
  EXPECT_TRUE(equals(m.y, {1, 2, 3, 14, 16, 18}));
  (m.y * 5).sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {5, 5, 5, 0, 0, 0}));
  EXPECT_TRUE(equals(value.grad(), {10, 10, 10}));
}

TEST(IndexPut, BroadcastsTheValue) {
  Matrix m;
  const Tensor value = leaf({7});
  m.y.index_put_({Slice(), Slice(None, None, 2)}, value);
  EXPECT_TRUE(equals(m.y, {7, 2, 7, 7, 5, 7}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {0, 1, 0, 0, 1, 0}));
  EXPECT_TRUE(equals(value.grad(), {4}));
}

TEST(IndexPut, NumberStopsTheGradient) {
  Matrix m;
  m.y.index_put_({0, 1}, 100);
  EXPECT_TRUE(equals(m.y, {1, 100, 3, 4, 5, 6}));
  m.y.sum().backward();
  EXPECT_TRUE(equals(m.x.grad(), {1, 0, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace tandem::testing
