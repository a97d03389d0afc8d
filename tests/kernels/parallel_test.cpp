// Threads of the CPU kernels: busy machines, buffers of threads, fork(), process exit.
#include "kernels/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/cpu/busy_machine.h"
#include "support/device.h"
#include "support/sanitizers.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using cpu::BusyDetector;

/// Advances a detector's time on `processors` processors, with a time of waiting per second of computing.
class Clock {
 public:
  /// Returns whether the machine counts as busy after `seconds`.
  bool pass(double seconds, double waiting, double processors = 2) {
    bool busy = detector_.update(sample_);
    for (double end = sample_.wall + seconds; sample_.wall < end - 1e-9;) {
      sample_.wall += 0.125;
      sample_.cpu += 0.125 * processors;
      sample_.waited += 0.125 * processors * waiting;
      busy = detector_.update(sample_);
    }
    return busy;
  }

 private:
  BusyDetector detector_;
  BusyDetector::Sample sample_{100, 5, 1.5};
};

TEST(BusyDetector, ReportsOnlyLongWaiting) {
  Clock quiet, busy;
  EXPECT_FALSE(quiet.pass(60, 0.02));
  EXPECT_FALSE(busy.pass(10, 0.02));
  EXPECT_TRUE(busy.pass(0.25, 0.6));
}

TEST(BusyDetector, ComparesWaitingWithTimeComputed) {
  Clock starved;
  EXPECT_TRUE(starved.pass(2, 0.6, 0.3));  // other programs take most of the processors
}

TEST(BusyDetector, IgnoresASingleWait) {
  Clock starting;
  EXPECT_FALSE(starting.pass(0.125, 0.6));
  EXPECT_FALSE(starting.pass(10, 0.02));
}

TEST(BusyDetector, StaysBusyUntilQuietForAWhile) {
  Clock clock;
  EXPECT_TRUE(clock.pass(5, 0.6));
  EXPECT_TRUE(clock.pass(0.5, 0.005));
  EXPECT_FALSE(clock.pass(3, 0.005));
}

TEST(BusyDetector, WaitsLongerAfterShortQuietPeriods) {
  Clock clock;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(clock.pass(0.25, 0.6));
    clock.pass(70, 0.005);  // longer than any hold; then busy again at once
    EXPECT_TRUE(clock.pass(0.25, 0.6));
    EXPECT_FALSE(clock.pass(70, 0.005));
  }
  Clock alternating;  // seems quiet while its threads sleep
  int spinning = 0;
  for (int i = 0; i < 800; ++i) {
    const bool busy = alternating.pass(0.125, 0);
    spinning += busy ? 0 : 1;
    if (!busy) alternating.pass(0.25, 0.6);
  }
  EXPECT_LE(spinning, 12);
}

TEST(BusyDetector, IgnoresTimesWithoutWork) {
  Clock clock;
  EXPECT_FALSE(clock.pass(10, 0.02));
  EXPECT_FALSE(clock.pass(10, 5, 0.001));
}

/// Sets the number of threads for the duration of a scope.
class Threads {
 public:
  explicit Threads(int count) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = get_num_threads();
};

/// Counts the items of a part, and cannot be moved.
struct Part {
  explicit Part(std::vector<Part*>& made) : maker(std::this_thread::get_id()) { made.push_back(this); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  std::thread::id maker;
  int64_t items = 0;
};

TEST(ParallelForWith, CallingThreadMakesAStatePerPart) {
  const Threads threads(3);
  for (int64_t n : {0, 1, 2, 3, 4, 5, 100}) {
    std::vector<Part*> made;
    std::vector<int> visits(static_cast<size_t>(n));
    std::atomic<int64_t> total{0};
    std::atomic<int> calls{0};
    const std::thread::id caller = std::this_thread::get_id();
    const auto run = [&](int64_t begin, int64_t end, Part& part) {
      EXPECT_EQ(part.items, 0);
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      total += part.items = end - begin;
      ++calls;
      EXPECT_EQ(part.maker, caller);
    };
    cpu::parallel_for_with<Part>(n, 1, run, std::ref(made));
    EXPECT_EQ(total, n);
    EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(n), 1));
    EXPECT_EQ(static_cast<size_t>(calls), made.size());
    EXPECT_LE(made.size(), 3U);
  }
}

TEST(ParallelForWith, InsideAnotherLoopThereIsOnePart) {
  const Threads threads(3);
  cpu::parallel_for(3, 1, [](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::vector<Part*> made;
      cpu::parallel_for_with<Part>(
          50, 1, [](int64_t, int64_t, Part&) {}, std::ref(made));
      EXPECT_EQ(made.size(), 1U);
    }
  });
}

/// If each thread allocated its own buffers, the memory that a step takes would depend on the threads' timing, and some
/// later step would request more.
TEST(ThreadBuffers, StepsTakeTheSameMemoryEachTime) {
  TANDEM_TEST_ON_HOST();
  const Threads threads(2);
  const auto step = [](const Tensor& x, const Tensor& weight, const Tensor& qkv) {
    conv2d(x, weight, {}, {1, 1}, {1, 1}).square().sum().backward();
    scaled_dot_product_attention(qkv, qkv, qkv).square().sum().backward();
  };
  for (const DType dtype : {kFloat, kBFloat16}) {
    const Tensor x = randn({2, 96, 28, 28}).to(dtype).contiguous(kChannelsLast).requires_grad_();
    const Tensor weight = randn({130, 96, 3, 3}).to(dtype).contiguous(kChannelsLast).requires_grad_();
    const Tensor qkv = randn({2, 6, 256, 64}).to(dtype).requires_grad_();
    int64_t second = 0;
    for (int i = 0; i < (testing::kEmulated ? 3 : 8); ++i) {
      for (Tensor t : {x, weight, qkv}) t.mutable_grad() = Tensor();
      cpu::empty_cache();
      step(x, weight, qkv);
      if (i < 2) second = cpu::memory_reserved();  // the first step alone may take a page more
      EXPECT_EQ(cpu::memory_reserved(), second) << i;
    }
  }
}

/// Runs `work` in a child of fork(); returns false if it crashes or does not end in time.
bool in_forked_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 1;
  for (int ms = 0; ms < 20000; ++ms) {
    if (waitpid(child, &status, WNOHANG) == child) return status == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return false;
}

bool computes() {
  const Tensor x = ones({512, 512});
  return mm(x, x).sum().item<double>() == 512.0 * 512 * 512 && (x + x).sum().item<double>() == 2 * 512.0 * 512;
}

TEST(Fork, ForkedChildComputesOnOneThread) {
  TANDEM_TEST_ON_HOST();  // a child of fork() cannot use CUDA
  if (testing::kEmulated) GTEST_SKIP() << "qemu 7.2 stops with a failed assertion if a process with threads forks";
  const int before = get_num_threads();
  set_num_threads(3);
  if (get_num_threads() == 1) GTEST_SKIP() << "a build without OpenMP";
  ASSERT_TRUE(computes());
  EXPECT_TRUE(in_forked_child([] {
    set_num_threads(3);
    return get_num_threads() == 1 && computes();
  }));
  EXPECT_TRUE(computes());
  EXPECT_EQ(get_num_threads(), 3);
  set_num_threads(before);
}

bool computes_under_autocast() {
  const Tensor x = ones({8, 8}), weight = ones({8, 8}).requires_grad_();
  const amp::AutocastGuard region(kCPU, kBFloat16);
  return mm(x, weight).sum().item<double>() == 512;
}

struct ComputesAtExit {
  ~ComputesAtExit() {
    if (!computes() || !computes_under_autocast()) std::_Exit(1);
  }
};

/// Death tests may run in a new process, in which nothing has chosen the device yet.
class ProcessExitDeathTest : public ::testing::Test {
 protected:
  ProcessExitDeathTest() { set_default_device(testing::device_asked_for()); }
};

TEST_F(ProcessExitDeathTest, DestructorsOfStaticObjectsMayCompute) {
  EXPECT_EXIT(
      {
        static const ComputesAtExit object;
        computes();
        computes_under_autocast();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        static const ComputesAtExit object;
        std::thread(computes).join();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(ProcessExitDeathTest, OtherThreadsMayCompute) {
#if defined(__clang__)
  GTEST_SKIP() << "LLVM's OpenMP aborts if a thread enters it after exit() has shut it down";
#endif
  const auto compute = [](int64_t n) {
    const Tensor x = randn({1, 3, n, n}).requires_grad_();
    conv2d(x, randn({4, 3, 3, 3})).sum().backward();
    mm(randn({n, 8}), randn({8, n}));
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(
        {
          for (int64_t n : {5, 6}) {
            std::thread([=] {
              for (int64_t k = 0;; ++k) compute(n + k % 50);
            }).detach();
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(10 + 10 * i));
          compute(64);
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace tandem
