// Hooks on tensors: when they run, what they may change, retain_grad.
#include <gtest/gtest.h>

#include "autograd/support.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

TEST(Hooks, SeeTheGradientOfALeaf) {
  const Tensor x = leaf({1, 2});
  std::vector<double> seen;
  x.register_hook([&](const Tensor& g) {
    seen = values_of(g);
    return Tensor();
  });
  (x * 3).sum().backward();
  EXPECT_EQ(seen, (std::vector<double>{3, 3}));
  EXPECT_TRUE(equals(x.grad(), {3, 3}));
}

TEST(Hooks, OfALeafRunOnceOnTheSumOfItsUses) {
  const Tensor x = leaf({2});
  int calls = 0;
  double seen = 0;
  x.register_hook([&](const Tensor& g) {
    ++calls;
    seen = g.item<double>();
    return Tensor();
  });
  const Tensor y = x * x + x * 3;
  y.backward({}, true);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, 7);
  y.backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(seen, 7);  // what arrives, not what .grad holds
  EXPECT_TRUE(equals(x.grad(), {14}));
}

TEST(Hooks, ReplaceTheGradientOfALeaf) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& g) { return g * 10; });
  (x * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {30, 30}));
}

TEST(Hooks, ReplaceTheGradientOnItsWay) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.register_hook([](const Tensor& g) { return g * 10; });
  (h * 5).backward();
  EXPECT_TRUE(equals(x.grad(), {150}));
}

TEST(Hooks, OfAResultRunOnTheSumOfItsUses) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  int calls = 0;
  h.register_hook([&](const Tensor& g) {
    ++calls;
    EXPECT_EQ(g.item<double>(), 9);
    return Tensor();
  });
  (h * 5 + h * 4).backward();
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, RunInTheOrderOfRegistration) {
  const Tensor x = leaf({2});
  x.register_hook([](const Tensor& g) { return g + 1; });
  x.register_hook([](const Tensor& g) { return g * 10; });
  (x * 3).backward();
  EXPECT_TRUE(equals(x.grad(), {40}));
}

TEST(Hooks, CanBeRemoved) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  const unsigned on_leaf = x.register_hook([](const Tensor& g) { return g * 10; });
  const unsigned kept = h.register_hook([](const Tensor& g) { return g * 2; });
  const unsigned removed = h.register_hook([](const Tensor& g) { return g * 100; });
  EXPECT_NE(kept, removed);
  x.remove_hook(on_leaf);
  h.remove_hook(removed);
  h.backward();
  EXPECT_TRUE(equals(x.grad(), {6}));
}

TEST(Hooks, RunForAutogradGradToo) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  x.register_hook([](const Tensor& g) { return g * 10; });
  h.register_hook([](const Tensor& g) { return g * 2; });
  EXPECT_TRUE(equals(autograd::grad({h * 1}, {h})[0], {2}));
  EXPECT_TRUE(equals(autograd::grad({h * 1}, {x})[0], {60}));
}

TEST(Hooks, AreRecordedWithCreateGraph) {
  const Tensor x = leaf({3});
  const Tensor h = x * x;
  h.register_hook([](const Tensor& g) { return g * 2; });
  const Tensor first = autograd::grad({h}, {x}, {}, {}, true)[0];  // 2 * 2 x
  EXPECT_TRUE(equals(first, {12}));
  EXPECT_TRUE(equals(autograd::grad({first}, {x})[0], {4}));
}

TEST(Hooks, NeedATensorThatRequiresGrad) {
  EXPECT_THROWS(tensor({1.0}).register_hook([](const Tensor& g) { return g; }), AutogradError, "register_hook",
                "requires_grad_()");
}

TEST(Hooks, ExceptionsReachTheCallerAndLeaveTheThreadUsable) {
  const Tensor x = leaf({2});
  const Tensor h = x * x;
  const unsigned handle = h.register_hook([](const Tensor&) -> Tensor { throw StateError("on purpose"); });
  const Tensor y = h * 3;
  EXPECT_THROWS(y.backward({}, true), StateError, "on purpose");
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(GradMode::is_enabled());
  h.remove_hook(handle);
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {12}));
}

TEST(Hooks, OfAFreedTensorStillRun) {
  const Tensor x = leaf({2});
  int calls = 0;
  Tensor y;
  {
    const Tensor h = x * 3;
    h.register_hook([&](const Tensor&) {
      ++calls;
      return Tensor();
    });
    y = h * 2;
  }
  y.backward();
  EXPECT_EQ(calls, 1);
}

TEST(RetainGrad, KeepsTheGradientOfAResult) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3, other = x * 4;
  h.retain_grad();
  (h * 5 + other).backward();
  EXPECT_TRUE(equals(h.grad(), {5}));
  EXPECT_FALSE(other.grad().defined());
}

TEST(RetainGrad, AddsUpOverPasses) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.retain_grad();
  const Tensor y = h * 5;
  y.backward({}, true);
  y.backward();
  EXPECT_TRUE(equals(h.grad(), {10}));
}

TEST(RetainGrad, TwiceIsOnce) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.retain_grad();
  h.retain_grad();
  (h * 5).backward();
  EXPECT_TRUE(equals(h.grad(), {5}));
}

TEST(RetainGrad, SeesWhatTheHooksMadeOfTheGradient) {
  // As in PyTorch: retained gradients are taken after all hooks, whenever those were registered.
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.retain_grad();
  h.register_hook([](const Tensor& g) { return g * 2; });
  (h * 5).backward();
  EXPECT_TRUE(equals(h.grad(), {10}));
}

TEST(RetainGrad, FollowsAnInPlaceOp) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.retain_grad();
  h.mul_(5);
  (h * 7).backward();
  EXPECT_TRUE(equals(h.grad(), {7}));
}

TEST(RetainGrad, MakesNoCycle) {
  const Tensor x = leaf({2});
  std::weak_ptr<TensorImpl> weak;
  {
    const Tensor h = x * 3;
    h.retain_grad();
    (h * 5).backward();
    weak = h.impl_ptr();
  }
  EXPECT_TRUE(weak.expired());
}

TEST(RetainGrad, DoesNotShareMemoryWithOtherGradients) {
  const Tensor x = leaf({2});
  const Tensor h = x + 0;
  h.retain_grad();
  (h * 5).backward();
  h.grad().mul_(100);
  EXPECT_TRUE(equals(x.grad(), {5}));
}

}  // namespace
}  // namespace tandem::testing
