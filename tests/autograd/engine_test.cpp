// backward() and autograd::grad(): accumulation, lifetime of the graph, roots, inputs, higher derivatives.
#include "tandem/autograd/engine.h"
#include "tandem/base/op_scope.h"

#include <gtest/gtest.h>

#include "autograd/support.h"
#include "support/throws.h"
#include "tandem/amp/custom_op.h"
#include "tandem/autograd/observer.h"

namespace tandem::testing {
namespace {

TEST(Backward, GivesTheDerivative) {
  const Tensor x = leaf({1, 2, 3});
  (x * x).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 4, 6}));
}

TEST(Backward, AddsIntoGrad) {
  const Tensor x = leaf({1, 2});
  (x * 3).sum().backward();
  (x * x).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {5, 7}));
  x.mutable_grad() = Tensor();
  (x * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {3, 3}));
}

TEST(Backward, AddsInPlaceIntoAnExistingGrad) {
  const Tensor x = leaf({1, 2});
  (x * 3).sum().backward();
  const Tensor held = x.grad();
  (x * 3).sum().backward();
  EXPECT_TRUE(x.grad().is_same(held));
  EXPECT_TRUE(equals(held, {6, 6}));
}

TEST(Backward, SumsOverAllUses) {
  const Tensor x = leaf({2});
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + x;  // 11 x
  (y * x).backward();                      // 11 x^2
  EXPECT_TRUE(equals(x.grad(), {44}));
}

TEST(Backward, WaitsForAllPathsOfADiamond) {
  const Tensor x = leaf({2});
  const Tensor a = x * x;
  const Tensor b = a * a * a;  // x^6
  (a + b).backward();
  EXPECT_TRUE(equals(x.grad(), {4 + 6 * 32}));
}

TEST(Backward, AcceptsAGradientForManyElements) {
  const Tensor x = leaf({1, 2, 3});
  (x * 2).backward(tensor({1.0, 10.0, 100.0}));
  EXPECT_TRUE(equals(x.grad(), {2, 20, 200}));
}

TEST(Backward, ConvertsTheGradientToTheOutputsDtype) {
  const Tensor x = leaf({1, 2});
  (x * 2).backward(tensor({1.0, 3.0}, kDouble));
  EXPECT_EQ(x.grad().dtype(), kFloat);
  EXPECT_TRUE(equals(x.grad(), {2, 6}));
}

TEST(Backward, OfALeafGivesOne) {
  const Tensor x = leaf({5});
  x.backward();
  EXPECT_TRUE(equals(x.grad(), {1}));
}

TEST(Backward, FromTwoTensorsOfOneGraph) {
  const Tensor x = leaf({3});
  const Tensor y = x * x, z = y * 2;
  autograd::backward({y, z});
  EXPECT_TRUE(equals(x.grad(), {18}));
}

TEST(Backward, FromTheSameTensorTwice) {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  autograd::backward({y, y});
  EXPECT_TRUE(equals(x.grad(), {12}));
}

TEST(Backward, RunsUnderNoGradGuard) {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  NoGradGuard no_grad;
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {6}));
}

TEST(Backward, SkipsTensorsThatDoNotRequireGrad) {
  const Tensor x = leaf({3}), c = tensor({2.0});
  (x * c).backward();
  EXPECT_FALSE(c.grad().defined());
  EXPECT_FALSE(c.requires_grad());
}

TEST(Backward, OfEmptyTensors) {
  const Tensor x = zeros({0, 3}).requires_grad_();
  (x * 2).sum().backward();
  EXPECT_EQ(to_string(x.grad().sizes()), "[0, 3]");
}

TEST(Backward, SkipsUnusedOutputs) {
  const Tensor x = tensor({{1.0, 5.0}, {7.0, 2.0}}).requires_grad_();
  const auto [values, indices] = x.max(1);
  EXPECT_FALSE(indices.requires_grad());
  values.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {0, 1, 1, 0}));
}

// ---- the tensor in .grad

TEST(Grad, OfTwoOperandsDoesNotShareMemory) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor seed = ones({2});
  (a + b).backward(seed);
  a.grad().mul_(5);
  EXPECT_TRUE(equals(a.grad(), {5, 5}));
  EXPECT_TRUE(equals(b.grad(), {1, 1}));
  EXPECT_TRUE(equals(seed, {1, 1}));
}

TEST(Grad, OfAViewDoesNotAliasTheSeed) {
  const Tensor a = leaf({1, 2});
  const Tensor seed = ones({1, 2});
  a.view({1, 2}).backward(seed);
  a.grad().mul_(5);
  EXPECT_TRUE(equals(seed, {1, 1}));
}

TEST(Grad, HasTheLeafsStrides) {
  Tensor x = empty_strided({2, 3}, {1, 2});
  x.copy_(ones({2, 3}));
  x.requires_grad_();
  (x * x).sum().backward();
  EXPECT_EQ(to_string(x.grad().strides()), "[1, 2]");
  const Tensor y = ones({2, 3}).requires_grad_();
  y.sum().backward();  // an expanded gradient
  EXPECT_EQ(to_string(y.grad().strides()), "[3, 1]");
}

TEST(Grad, HasTheLeafsDtype) {
  for (DType dtype : {kHalf, kBFloat16, kDouble}) {
    const Tensor x = ones({2}, dtype).requires_grad_();
    (x.to(kFloat) * 3).sum().backward();
    EXPECT_EQ(x.grad().dtype(), dtype);
    EXPECT_TRUE(equals(x.grad(), {3, 3}));
  }
}

TEST(Grad, IsSummedInTheLeafsDtype) {
  const Tensor x = leaf({1});
  const Tensor a = x.to(kHalf), b = x.to(kHalf);
  autograd::backward({a, b}, {tensor({1.0}, kHalf), tensor({0x1p-12}, kHalf)});
  EXPECT_EQ(x.grad().item<double>(), 1 + 0x1p-12);  // adding in f16 would lose the second gradient
}

TEST(Grad, HasNoHistoryWithoutCreateGraph) {
  const Tensor x = leaf({2});
  (x * x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

// ---- lifetime of the graph

TEST(Graph, IsFreedByBackward) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  y.backward();
  EXPECT_THROWS(y.backward(), AutogradError, "mul", "retain_graph");
  EXPECT_TRUE(equals(x.grad(), {4}));
}

TEST(Graph, IsKeptWithRetainGraph) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  y.backward({}, true);
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {8}));
  EXPECT_THROW(y.backward(), AutogradError);
}

TEST(Graph, SharedPartsCanBeRetained) {
  const Tensor x = leaf({2});
  const Tensor h = x * x;
  const Tensor a = h * 2, b = h * h;
  a.backward({}, true);
  b.backward();
  EXPECT_TRUE(equals(x.grad(), {8 + 32}));
}

TEST(Graph, IsKeptByDefaultWithCreateGraph) {
  const Tensor x = leaf({2});
  const Tensor y = x * x * x;
  autograd::grad({y}, {x}, {}, {}, /*create_graph=*/true);
  EXPECT_NO_THROW(y.backward());
}

TEST(Graph, IsFreedWithItsLastTensor) {
  const Tensor x = leaf({2});
  std::weak_ptr<autograd::Node> node;
  {
    const Tensor y = x * x;
    node = y.grad_fn();
    EXPECT_FALSE(node.expired());
  }
  EXPECT_TRUE(node.expired());
}

TEST(Graph, ReleasesSavedTensorsAfterBackward) {
  const Tensor x = leaf({2});
  std::weak_ptr<Storage> saved;
  Tensor y;
  {
    const Tensor h = x * 3;
    saved = h.impl().storage;
    y = h * h;
  }
  EXPECT_FALSE(saved.expired());
  y.backward({}, true);
  EXPECT_FALSE(saved.expired());
  y.backward();
  EXPECT_TRUE(saved.expired());
}

TEST(Graph, SavedOutputsMakeNoCycle) {
  const Tensor x = leaf({2});
  std::weak_ptr<TensorImpl> output;
  std::weak_ptr<Storage> storage;
  std::weak_ptr<autograd::Node> node;
  {
    const Tensor y = x.exp();  // saves its output
    output = y.impl_ptr();
    storage = y.impl().storage;
    node = y.grad_fn();
  }
  EXPECT_TRUE(output.expired());
  EXPECT_TRUE(storage.expired());
  EXPECT_TRUE(node.expired());
}

TEST(Graph, InPlaceOpsAndViewsMakeNoCycle) {
  const Tensor x = leaf({1, 2, 3});
  std::weak_ptr<TensorImpl> base, view;
  std::weak_ptr<autograd::Node> node;
  {
    const Tensor y = x * 2;
    const Tensor v = y.slice(0, 0, 2);
    v.exp_();
    v.mul_(v.clone());
    y.sigmoid_();
    (y * y).sum().backward();
    base = y.impl_ptr();
    view = v.impl_ptr();
    node = v.grad_fn();
  }
  EXPECT_TRUE(base.expired());
  EXPECT_TRUE(view.expired());
  EXPECT_TRUE(node.expired());
}

TEST(Graph, ASavedConstantThatGetsAHistoryMakesNoCycle) {
  const Tensor x = leaf({1, 2});
  std::weak_ptr<TensorImpl> constant;
  std::weak_ptr<autograd::Node> node;
  {
    const Tensor y = ones({2});
    const Tensor z = y * x;  // saves y
    y.add_(z);               // y's history now includes z's node
    constant = y.impl_ptr();
    node = z.grad_fn();
  }
  EXPECT_TRUE(constant.expired());
  EXPECT_TRUE(node.expired());
}

TEST(Graph, DoesNotKeepLeavesAlive) {
  std::weak_ptr<TensorImpl> weak;
  {
    const Tensor x = leaf({1});
    weak = x.impl_ptr();
    const Tensor y = x * x;
    y.backward();
  }
  EXPECT_TRUE(weak.expired());
}

// ---- autograd::grad

TEST(GradFunction, DoesNotChangeDotGrad) {
  const Tensor x = leaf({3});
  const auto g = autograd::grad({x * x}, {x});
  EXPECT_TRUE(equals(g[0], {6}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(GradFunction, OfIntermediates) {
  const Tensor x = leaf({3}), w = leaf({5});
  const Tensor h = x * x, y = h * w;
  const auto g = autograd::grad({y}, {h, w});
  EXPECT_TRUE(equals(g[0], {5}));
  EXPECT_TRUE(equals(g[1], {9}));
}

TEST(GradFunction, OfTheOutputItself) {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  const auto g = autograd::grad({y}, {y, x});
  EXPECT_TRUE(equals(g[0], {1}));
  EXPECT_TRUE(equals(g[1], {6}));
}

TEST(GradFunction, TheSameInputTwice) {
  const Tensor x = leaf({3});
  const auto g = autograd::grad({x * x}, {x, x});
  EXPECT_TRUE(equals(g[0], {6}));
  EXPECT_TRUE(equals(g[1], {6}));
}

TEST(GradFunction, UnusedInputs) {
  const Tensor x = leaf({3}), unused = leaf({1});
  const Tensor y = x * x;
  const auto g = autograd::grad({y}, {x, unused}, {}, true, false, /*allow_unused=*/true);
  EXPECT_TRUE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
  EXPECT_THROWS((autograd::grad({y}, {x, unused})), AutogradError, "input 1", "allow_unused");
}

TEST(GradFunction, RefusesInputsWithoutGrad) {
  const Tensor x = leaf({3}), c = tensor({1.0});
  EXPECT_THROW(autograd::grad({x * c}, {c}), AutogradError);
  EXPECT_THROW(autograd::grad({x * c}, {Tensor()}), AutogradError);
}

TEST(GradFunction, StopsAtItsInputs) {
  // As in PyTorch: the graph below the input is kept, so that backward can continue from there.
  const Tensor x = leaf({3});
  const Tensor h = x * x, y = h * h;
  const auto g = autograd::grad({y}, {h});
  EXPECT_TRUE(equals(g[0], {18}));
  EXPECT_NO_THROW(h.backward(g[0]));
  EXPECT_TRUE(equals(x.grad(), {18 * 6}));
}

TEST(GradFunction, WithGradOutputsForSeveralOutputs) {
  const Tensor x = leaf({1, 2});
  const auto g = autograd::grad({x * 2, x * x}, {x}, {tensor({1.0, 1.0}), tensor({10.0, 100.0})});
  EXPECT_TRUE(equals(g[0], {22, 402}));
}

// ---- higher derivatives

TEST(CreateGraph, GivesHigherDerivatives) {
  const Tensor x = leaf({2});
  const Tensor y = x * x * x * x;
  const Tensor first = autograd::grad({y}, {x}, {}, {}, true)[0];
  const Tensor second = autograd::grad({first}, {x}, {}, {}, true)[0];
  const Tensor third = autograd::grad({second}, {x}, {}, {}, true)[0];
  EXPECT_TRUE(equals(first, {32}));
  EXPECT_TRUE(equals(second, {48}));
  EXPECT_TRUE(equals(third, {48}));
}

TEST(CreateGraph, GradientPenaltyReachesTheParameters) {
  const Tensor w = leaf({3}), x = leaf({2});
  const Tensor y = w * x * x;                                      // dy/dx = 2 w x
  const Tensor slope = autograd::grad({y}, {x}, {}, {}, true)[0];  // 12
  const Tensor penalty = (slope - 1) * (slope - 1);
  penalty.backward();
  EXPECT_TRUE(equals(w.grad(), {2 * 11 * 4}));  // 2 (2 w x - 1) 2 x
  EXPECT_TRUE(equals(x.grad(), {2 * 11 * 6}));
}

TEST(CreateGraph, GradOfBackwardHasHistory) {
  const Tensor x = leaf({2});
  (x * x * x).backward({}, {}, true);
  EXPECT_TRUE(x.grad().requires_grad());
  const auto second = autograd::grad({x.grad()}, {x});
  EXPECT_TRUE(equals(second[0], {12}));
  x.mutable_grad() = Tensor();  // grad holds the graph, and the graph holds the leaf: the user must break the cycle
}

TEST(CreateGraph, AccumulatesOutOfPlace) {
  const Tensor x = leaf({2});
  (x * x).backward();
  const Tensor before = x.grad();
  (x * x * x).backward({}, {}, true);
  EXPECT_TRUE(equals(before, {4}));
  EXPECT_TRUE(equals(x.grad(), {16}));
  x.mutable_grad() = Tensor();
}

// ---- misuse

TEST(BackwardErrors, NoHistory) { EXPECT_THROWS(tensor({1.0}).backward(), AutogradError, "does not require grad"); }

TEST(BackwardErrors, ManyElementsWithoutGradient) {
  const Tensor x = leaf({1, 2});
  EXPECT_THROWS((x * 2).backward(), AutogradError, "[2]");
}

TEST(BackwardErrors, GradientOfOtherSizes) {
  const Tensor x = leaf({1, 2});
  EXPECT_THROWS((x * 2).backward(ones({3})), ShapeError, "[3]", "[2]");
}

TEST(BackwardErrors, DifferentCounts) {
  const Tensor x = leaf({1});
  EXPECT_THROW(autograd::backward({x * 2, x * 3}, {ones({1})}), AutogradError);
}

TEST(BackwardErrors, UndefinedTensors) {
  EXPECT_THROW(autograd::backward({Tensor()}), AutogradError);
  EXPECT_THROW(Tensor().backward(), Error);
}

TEST(BackwardErrors, OnlyFloatingLeavesRequireGrad) {
  EXPECT_THROW(ones({2}, kLong).requires_grad_(), DTypeError);
  EXPECT_NO_THROW(ones({2}, kLong).requires_grad_(false));
}

TEST(BackwardErrors, ResultsAlwaysRequireGrad) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  EXPECT_THROW(y.requires_grad_(false), AutogradError);
}

Tensor throws_in_backward(const Tensor& x) {
  return amp::custom_op<"throws_in_backward">(
      amp::Cast::keep,
      [](const Tensor& x) {
        return Result{x.clone(), save(), [](const Backward&) -> Grads { throw StateError("on purpose"); }};
      },
      x);
}

TEST(BackwardErrors, CodeOfTheUserNamesItsOwnErrors) {
  struct FailsToView : autograd::Observer {
    void before(const autograd::ObservedOp& op) override { op.inputs[0]->view({7}); }
  };
  const Tensor x = leaf({2}), y = x * x;
  y.register_hook([](const Tensor& g) { return g.view({7}); });
  EXPECT_THROWS(y.backward(), ShapeError, "view: ", "[7]");
  const autograd::ObserverGuard guard(std::make_shared<FailsToView>());
  EXPECT_THROWS(exp(x), ShapeError, "view: ", "[7]");
}

TEST(BackwardErrors, AnExceptionLeavesTheThreadUsable) {
  const Tensor x = leaf({2});
  const Tensor y = throws_in_backward(x * x) * 2;
  EXPECT_THROW(y.backward(), StateError);
  EXPECT_TRUE(GradMode::is_enabled());
  EXPECT_STREQ(running_op(), "");
  EXPECT_FALSE(x.grad().defined());
  (x * x).backward();
  EXPECT_TRUE(equals(x.grad(), {4}));
}

}  // namespace
}  // namespace tandem::testing
