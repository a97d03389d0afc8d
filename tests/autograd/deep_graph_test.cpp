// Long graphs are traversed and freed without recursion. Each test runs on a thread with a small stack, where one frame
// per op would overflow.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "autograd/support.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

constexpr int kOps = 10000;

/// Runs `f` on a thread whose stack holds 256 KiB: 26 bytes for each of kOps.
void on_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread;
  auto run = [](void* p) -> void* {
    (*static_cast<std::function<void()>*>(p))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(DeepGraph, Backward) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y + 1;
    y.backward();
    EXPECT_TRUE(equals(x.grad(), {1}));
  });
}

TEST(DeepGraph, FreedWithoutBackward) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 10 * kOps; ++i) y = y + 1;
  });
}

TEST(DeepGraph, OfSavedInputs) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y * x;  // each node saves the result before
    y.backward({}, /*retain_graph=*/true);
    EXPECT_TRUE(equals(x.grad(), {kOps + 1}));
  });
}

TEST(DeepGraph, OfSavedOutputs) {
  on_small_stack([] {
    const Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y.tanh();
    y.backward({}, /*retain_graph=*/true);
    EXPECT_TRUE(equals(x.grad(), {1}));
  });
}

TEST(DeepGraph, OfViews) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = i % 2 == 0 ? y.unsqueeze(0) : y.squeeze(0);
    y.sum().backward({}, /*retain_graph=*/true);
    EXPECT_TRUE(equals(x.grad(), {1}));
  });
}

TEST(DeepGraph, OfInPlaceOps) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    const Tensor y = x * 1;
    for (int i = 0; i < kOps; ++i) y.mul_(i % 2 == 0 ? 2 : 0.5);
    y.backward({}, /*retain_graph=*/true);
    EXPECT_TRUE(equals(x.grad(), {1}));
  });
}

TEST(DeepGraph, OfInPlaceOpsOnViews) {
  on_small_stack([] {
    const Tensor x = leaf({1, 1});
    const Tensor y = x * 1;
    for (int i = 0; i < kOps; ++i) y[i % 2].add_(x[0]);
    y.sum().backward({}, /*retain_graph=*/true);
    EXPECT_TRUE(equals(x.grad(), {kOps + 1, 1}));
  });
}

TEST(DeepGraph, OfGradients) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < kOps / 4; ++i) y = y * x;
    const Tensor first = autograd::grad({y}, {x}, {}, {}, true)[0];
    EXPECT_TRUE(equals(first, {kOps / 4 + 1}));
    EXPECT_TRUE(first.requires_grad());
  });
}

TEST(DeepGraph, AMillionOpsAreFreed) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = y.neg();
  y = Tensor();
}

TEST(DeepGraph, ManyUsesOfOneTensor) {
  const Tensor x = leaf({1});
  Tensor y = zeros({1});
  for (int i = 0; i < kOps; ++i) y = y + x;
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {kOps}));
}

}  // namespace
}  // namespace tandem::testing
