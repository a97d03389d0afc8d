// Hooks after the accumulation of a gradient, and callbacks at the end of a backward pass.
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using autograd::queue_callback;
using autograd::register_post_accumulate_grad_hook;
using autograd::remove_post_accumulate_grad_hook;

TEST(PostAccumulateGradHook, SeesTheSumOfAllUsesOncePerPass) {
  const Tensor w = ones({2}).requires_grad_(true);
  std::vector<float> seen;
  const unsigned handle = register_post_accumulate_grad_hook(w, [&](const Tensor& leaf) {
    EXPECT_TRUE(leaf.is_same(w));
    seen.push_back(leaf.grad()[0].item<float>());
  });
  const auto loss = [&] { return (w * 2 + w * 3).sum(); };
  loss().backward();
  loss().backward();
  EXPECT_EQ(seen, (std::vector<float>{5, 10}));
  remove_post_accumulate_grad_hook(w, handle);
  loss().backward();
  EXPECT_EQ(seen.size(), 2u);
}

TEST(PostAccumulateGradHook, MayReplaceTheGradientAndRemoveItself) {
  const Tensor w = ones({2}).requires_grad_(true);
  unsigned handle = 0;
  handle = register_post_accumulate_grad_hook(w, [&](const Tensor& leaf) {
    leaf.mutable_grad() = leaf.grad() * 10;
    remove_post_accumulate_grad_hook(leaf, handle);
  });
  w.sum().backward();
  EXPECT_EQ(w.grad()[0].item<float>(), 10);
  w.sum().backward();
  EXPECT_EQ(w.grad()[0].item<float>(), 11);
}

TEST(PostAccumulateGradHook, RunsAfterTensorHooks) {
  const Tensor w = ones({2}).requires_grad_(true);
  w.register_hook([](const Tensor& g) { return g * 4; });
  float seen = 0;
  register_post_accumulate_grad_hook(w, [&](const Tensor& leaf) { seen = leaf.grad()[0].item<float>(); });
  w.sum().backward();
  EXPECT_EQ(seen, 4);
}

TEST(PostAccumulateGradHook, KeepsTheMarkOfScaledGradients) {
  const Tensor w = ones({2}).requires_grad_(true);
  register_post_accumulate_grad_hook(w, [](const Tensor& leaf) { leaf.mutable_grad() = leaf.grad().clone(); });
  amp::GradScaler scaler;
  scaler.scale(w.sum()).backward();
  EXPECT_TRUE(autograd::gradient_scale(w).is(autograd::LossScale::Kind::scaled));
}

TEST(PostAccumulateGradHook, RefusesOtherTensors) {
  const Tensor w = ones({2}).requires_grad_(true);
  const auto hook = [](const Tensor&) {};
  EXPECT_THROWS(register_post_accumulate_grad_hook(ones({2}), hook), AutogradError, "leaves");
  EXPECT_THROWS(register_post_accumulate_grad_hook(w * 2, hook), AutogradError, "register_hook");
  EXPECT_THROWS(register_post_accumulate_grad_hook(Tensor(), hook), AutogradError, "leaves");
  EXPECT_THROWS(register_post_accumulate_grad_hook(w, {}), AutogradError, "empty");
  EXPECT_NO_THROW(remove_post_accumulate_grad_hook(ones({2}), 7));
}

TEST(QueueCallback, RunsOnceAtTheEndOfTheOutermostPass) {
  const Tensor w = ones({2}).requires_grad_(true), v = ones({2}).requires_grad_(true);
  std::vector<std::string> order;
  w.register_hook([&](const Tensor&) {
    queue_callback([&] {
      EXPECT_TRUE(w.grad().defined());
      order.push_back("end");
      // A callback may add another.
      queue_callback([&] { order.push_back("after the end"); });
    });
    v.register_hook([&](const Tensor&) { queue_callback([&] { order.push_back("end of the inner pass"); }); });
    const AutoGradMode recording(true);
    (v * 2).sum().backward();
    order.push_back("hook");
  });
  (w * 2).sum().backward();
  EXPECT_EQ(order, (std::vector<std::string>{"hook", "end", "end of the inner pass", "after the end"}));
  order.clear();
  (v * 2).sum().backward();
  EXPECT_EQ(order, std::vector<std::string>{"end of the inner pass"});
}

TEST(QueueCallback, DoesNotRunIfThePassFails) {
  const Tensor w = ones({2}).requires_grad_(true);
  bool called = false, fails = true;
  w.register_hook([&](const Tensor&) {
    queue_callback([&] { called = true; });
    if (fails) throw std::runtime_error("a bug");
  });
  EXPECT_THROW(w.sum().backward(), std::runtime_error);
  EXPECT_FALSE(called);
  fails = false;
  w.sum().backward();
  EXPECT_TRUE(called);
}

TEST(QueueCallback, NeedsAPass) {
  EXPECT_THROWS(queue_callback([] {}), AutogradError, "queue_callback: ", "no backward pass");
  const Tensor w = ones({2}).requires_grad_(true);
  w.register_hook([&](const Tensor&) { EXPECT_THROWS(queue_callback({}), AutogradError, "empty"); });
  autograd::grad({w.sum()}, {w});
}

}  // namespace
}  // namespace tandem::testing
