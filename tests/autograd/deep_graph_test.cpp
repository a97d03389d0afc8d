// Deep graphs are traversed and freed without recursion. Each test runs on a thread with a small stack, which one stack
// frame per op would overflow.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "autograd/support.h"
#include "support/device.h"
#include "support/sanitizers.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers have their own operators
// noinline: otherwise GCC warns that new and free do not match.
#define TANDEM_TEST_REPLACES_NEW
static thread_local bool no_memory = false;
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* block = no_memory ? nullptr : std::malloc(bytes);
  return block ? block : throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }
#endif

namespace tandem::testing {
namespace {

constexpr int kOps = 10000;

/// Runs `f` on a thread with a stack of 256 KiB: 26 bytes for each of kOps.
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
    for (int i = 0; i < kOps; ++i) y = y * x;  // each node saves the previous result
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

TEST(DeepGraph, OfHooksHoldingThePreviousTensor) {
  on_small_stack([] {
    const Tensor x = leaf({1});
    Tensor y = x * 1;
    for (int i = 0; i < kOps; ++i) {
      Tensor next = y * 1;
      next.register_hook([y](const Tensor&) { return Tensor(); });
      y = next;
    }
  });
}

TEST(DeepGraph, OfGradientsWithHistory) {
  on_small_stack([] {
    Tensor last = leaf({1});
    for (int i = 0; i < kOps; ++i) {
      const Tensor x = leaf({1});
      x.mutable_grad() = last * 1;
      last = x;
    }
  });
}

#if defined(TANDEM_TEST_REPLACES_NEW)
TEST(DeepGraph, IsFreedWithoutAllocating) {
  SKIP_ON_CUDA("the emulated device allocates to free memory");
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000; ++i) y = y * x;
  y.register_hook([y = y * 1](const Tensor&) { return Tensor(); });
  no_memory = true;
  y = Tensor();
  no_memory = false;
}
#endif

void pass_in_a_pass(int depth) {
  const AutoGradMode record(true);  // hooks run with recording off
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  y.register_hook([depth](const Tensor&) {
    if (depth > 1) pass_in_a_pass(depth - 1);
    return Tensor();
  });
  y.backward();
}

TEST(DeepGraph, NestedPassesAreLimited) {
  pass_in_a_pass(autograd::kMaxNestedPasses);
  EXPECT_THROWS(pass_in_a_pass(autograd::kMaxNestedPasses + 1), AutogradError, "backward: ", "500 backward passes");
  pass_in_a_pass(autograd::kMaxNestedPasses);
}

TEST(DeepGraph, ManyOpsAreFreed) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < (kSlowRun ? 100000 : 1000000); ++i) y = y.neg();
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
