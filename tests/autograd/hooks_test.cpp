// Hooks on tensors: when they run, what they may change, retain_grad.
#include <gtest/gtest.h>

#include <functional>

#include "autograd/support.h"
#include "support/device.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

TEST(Hooks, ReceiveTheGradientOfALeaf) {
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

TEST(Hooks, OfALeafRunOnceOnTheSum) {
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
  EXPECT_EQ(seen, 7);  // the incoming gradient, not the sum in .grad
  EXPECT_TRUE(equals(x.grad(), {14}));
}

TEST(Hooks, ReplaceTheGradientOfALeaf) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& g) { return g * 10; });
  (x * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {30, 30}));
}

TEST(Hooks, ReplaceTheGradientOfAResult) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.register_hook([](const Tensor& g) { return g * 10; });
  (h * 5).backward();
  EXPECT_TRUE(equals(x.grad(), {150}));
}

TEST(Hooks, OfAResultRunOnceOnTheSum) {
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

TEST(Hooks, RunForAutogradGrad) {
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

TEST(Hooks, ExceptionsReachTheCaller) {
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

TEST(Hooks, MustReturnAMatchingGradient) {
  const auto refused = [](const Tensor& x, const Tensor& y, const Tensor& replacement, const std::string& shown) {
    const unsigned handle = x.register_hook([=](const Tensor&) { return replacement; });
    EXPECT_THROWS(y.backward({}, true), AutogradError, "hook", shown, "[3] f32 on " + device_name());
    x.remove_hook(handle);
  };
  const Tensor x = leaf({1, 2, 3});
  const Tensor h = x * 1, y = (h * 2).sum();
  for (const Tensor& of : {x, h}) {
    refused(of, y, ones({1}), "[1] f32 on " + device_name());
    refused(of, y, ones({7}), "[7] f32 on " + device_name());
    refused(of, y, ones({1, 3}), "[1, 3] f32 on " + device_name());
    refused(of, y, ones({3}, kDouble), "[3] f64 on " + device_name());
    refused(of, y, ones({3}, kHalf), "[3] f16 on " + device_name());
  }
  EXPECT_FALSE(x.grad().defined());
  h.register_hook([](const Tensor&) { return ones({7}); });
  EXPECT_THROWS(y.backward(), AutogradError, "mul: a hook");  // the op that made h
}

TEST(Hooks, CannotBeEmpty) {
  const Tensor x = leaf({1});
  EXPECT_THROWS(x.register_hook(autograd::TensorHook()), AutogradError, "register_hook", "empty");
  (x * 2).backward();
  EXPECT_TRUE(equals(x.grad(), {2}));
}

TEST(Hooks, MayRemoveThemselvesAndOthers) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 1, y = h.sum();
  for (const Tensor& of : {x, h}) {
    int ones = 0, tens = 0, hundreds = 0;
    unsigned self = 0, later = 0;
    const std::string big(1000, 'x');  // shows if a destroyed closure is used
    self = of.register_hook([&, big](const Tensor&) {
      of.remove_hook(self);
      of.remove_hook(later);
      ones += big.size() == 1000;
      return Tensor();
    });
    const unsigned kept = of.register_hook([&](const Tensor&) {
      tens += 10;
      return Tensor();
    });
    later = of.register_hook([&](const Tensor&) {
      hundreds += 100;
      return Tensor();
    });
    y.backward({}, true);
    EXPECT_EQ(ones + tens + hundreds, 11);  // removed hooks do not run again
    y.backward({}, true);
    EXPECT_EQ(ones + tens + hundreds, 21);
    of.remove_hook(kept);
  }
}

TEST(Hooks, AddedByAHookRunInLaterPasses) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 1, y = h.sum();
  for (const Tensor& of : {x, h}) {
    int added = 0;
    std::vector<unsigned> handles;
    handles.push_back(of.register_hook([&](const Tensor&) {
      for (int i = 0; i < 100; ++i) {
        handles.push_back(of.register_hook([&](const Tensor&) {
          ++added;
          return Tensor();
        }));
      }
      return Tensor();
    }));
    y.backward({}, true);
    EXPECT_EQ(added, 0);
    of.remove_hook(handles[0]);
    y.backward({}, true);
    EXPECT_EQ(added, 100);
    for (unsigned handle : handles) of.remove_hook(handle);
  }
}

TEST(Hooks, MayReturnNothing) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  x.register_hook([&](Tensor) { calls += 1; });
  x.register_hook([&](const Tensor& g) {
    EXPECT_TRUE(equals(g, {3, 3}));
    calls += 10;
  });
  const std::function<void(Tensor)> counts = [&](const Tensor&) { calls += 100; };
  x.register_hook(counts);
  (x * 3).sum().backward();
  EXPECT_EQ(calls, 111);
  EXPECT_TRUE(equals(x.grad(), {3, 3}));
}

TEST(Hooks, MayHaveState) {
  const Tensor x = leaf({1});
  x.register_hook([n = 0](const Tensor& g) mutable { return g * ++n; });
  const Tensor y = x * 1;
  y.backward({}, true);
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {3}));
}

TEST(Hooks, CanBeRemovedAfterInPlaceOps) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2, other = x * 3;
  int calls = 0;
  const auto count = [&](const Tensor&) {
    ++calls;
    return Tensor();
  };
  const unsigned before = y.register_hook(count), others = other.register_hook(count);
  y.mul_(3);
  const unsigned between = y.register_hook(count);
  y.view({2, 1}).add_(1);
  const unsigned last = y.register_hook(count);
  const Tensor loss = (y + other).sum();
  loss.backward({}, true);
  EXPECT_EQ(calls, 4);
  y.remove_hook(others);  // belongs to another tensor
  for (unsigned handle : {before, between, last}) y.remove_hook(handle);
  loss.backward({}, true);
  EXPECT_EQ(calls, 5);
  other.remove_hook(others);
  loss.backward();
  EXPECT_EQ(calls, 5);
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

TEST(RetainGrad, MayBeCalledTwice) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  h.retain_grad();
  h.retain_grad();
  (h * 5).backward();
  EXPECT_TRUE(equals(h.grad(), {5}));
}

TEST(RetainGrad, HoldsTheGradientAfterHooks) {
  // As in PyTorch: the retained gradient is taken after all hooks, regardless of the order of registration.
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
