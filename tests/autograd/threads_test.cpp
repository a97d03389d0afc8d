// Recording and backward on several threads at once. Run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <thread>

#include "autograd/support.h"
#include "tandem/amp/thread_context.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

constexpr int kThreads = 4, kRounds = 50;

/// Runs f(thread number) on kThreads threads at once.
template <class F>
void on_threads(F f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([f, t, modes = ThreadContext::capture()] {
      const ThreadContextGuard as_here(modes);  // on the tests' device
      f(t);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Threads, SeparateGraphs) {
  on_threads([](int t) {
    for (int i = 0; i < kRounds; ++i) {
      const Tensor x = leaf({1.0 + t, 2});
      Tensor y = x * x;
      y[0].mul_(2);
      y.sum().backward();
      EXPECT_TRUE(equals(x.grad(), {4 * (1.0 + t), 4}));
    }
  });
}

TEST(Threads, SharedConstants) {
  const Tensor c = tensor({3.0, 5.0});
  on_threads([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const Tensor x = leaf({1, 2});
      (x * c).sum().backward();
      EXPECT_TRUE(equals(x.grad(), {3, 5}));
    }
  });
}

TEST(Threads, SharedWeightsThroughAutogradGrad) {
  const Tensor w = leaf({3, 5});
  on_threads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      const Tensor x = tensor({1.0 + t, 2.0});
      const auto g = autograd::grad({(w * x).sum()}, {w});
      EXPECT_TRUE(equals(g[0], {1.0 + t, 2}));
    }
  });
  EXPECT_FALSE(w.grad().defined());
}

TEST(Threads, ConcurrentFirstUsesOfSharedWeights) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor w = leaf({3, 5});  // not yet used in a graph
    on_threads([&](int) {
      const auto g = autograd::grad({(w * w).sum()}, {w});
      EXPECT_TRUE(equals(g[0], {6, 10}));
    });
  }
}

TEST(Threads, BackwardOnAnotherThreadThanForward) {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  std::thread([&] { y.backward(); }).join();
  EXPECT_TRUE(equals(x.grad(), {6}));
}

/// Runs `passes` backward passes into w on each of two threads and expects every gradient to be accumulated.
void accumulate_on_two_threads(const Tensor& w, int passes, bool create_graph) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < passes; ++i) (w * 1).sum().backward({}, {}, create_graph);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(equals(w.grad(), std::vector<double>(static_cast<size_t>(w.numel()), 2 * passes)));
  w.mutable_grad() = Tensor();
}

TEST(Threads, BackwardIntoSharedLeavesLosesNoGradients) {
  accumulate_on_two_threads(zeros({512}).requires_grad_(), 2000, false);
  accumulate_on_two_threads(zeros({8}).requires_grad_(), 200, true);
}

TEST(Threads, LongGraphsAreFreedConcurrently) {
  on_threads([](int) {
    for (int i = 0; i < 5; ++i) {
      const Tensor x = leaf({1});
      Tensor y = x;
      for (int k = 0; k < 500; ++k) y = y * x;
      y.backward();
      EXPECT_TRUE(equals(x.grad(), {501}));
    }
  });
}

}  // namespace
}  // namespace tandem::testing
