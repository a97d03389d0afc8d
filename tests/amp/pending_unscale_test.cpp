// A postponed unscale: after a fused step, `.grad` reads as unscaled, from any number of threads.
#include "tandem/amp/pending_unscale.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/device.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

/// A gradient of 3 * 1024 that must read as 3.
Tensor postponed(IntArrayRef sizes) {
  Tensor g = full(sizes, 3 * 1024.0);
  amp::detail::PostponedUnscale({g}, full({}, 1.0 / 1024)).start();
  return g;
}

TEST(PendingUnscale, IsAppliedAtTheFirstRead) {
  const Tensor g = postponed({4});
  EXPECT_TRUE(g.storage().has_pending());
  EXPECT_EQ(g[2].item<float>(), 3);
  EXPECT_FALSE(g.storage().has_pending());
}

TEST(PendingUnscale, ParallelKernelsReadUnscaledValues) {
  const int64_t n = 1 << 18;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(postponed({n}).sum().item<float>(), 3.0F * n);
    EXPECT_EQ((postponed({512, n / 512}) + ones({512, 1})).max().item<float>(), 4);
    EXPECT_EQ(postponed({512, n / 512}).softmax(1).sum().item<float>(), 512);
    Tensor sum = full({n}, 1.0);
    sum.add_(postponed({n}));
    EXPECT_EQ(sum.min().item<float>(), 4);
  }
}

TEST(PendingUnscale, ConcurrentReadsAgree) {
  TANDEM_TEST_ON_HOST();
  for (int i = 0; i < 200; ++i) {
    const Tensor g = postponed({4096});
    std::atomic<int> ready{0}, wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; ++t) {
      readers.emplace_back([&] {
        ++ready;
        while (ready < 2) {
        }
        const float* data = g.const_data_ptr<float>();
        for (int64_t k = 0; k < 4096; ++k) wrong += data[k] != 3;
      });
    }
    for (std::thread& t : readers) t.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(PendingUnscale, IsAppliedAtOnceIfAPointerEscaped) {
  TANDEM_TEST_ON_HOST();
  const Tensor g = full({4}, 3 * 1024.0);
  const float* data = g.const_data_ptr<float>();
  amp::detail::PostponedUnscale({g}, full({}, 1.0 / 1024)).start();
  EXPECT_EQ(data[1], 3);
}

/// A factor that fails the first time it is applied.
struct FailsOnce final : PendingWrite {
  explicit FailsOnce(bool& alive) : alive_(alive) { alive_ = true; }
  ~FailsOnce() override { alive_ = false; }
  FailsOnce(const FailsOnce&) = delete;
  FailsOnce& operator=(const FailsOnce&) = delete;
  void apply() override {
    if (std::exchange(failed_, true)) return;
    throw OutOfMemoryError("no memory for the factor");
  }
  [[noreturn]] void refuse_in_capture() const override { throw StateError("not in a graph"); }

 private:
  bool& alive_;
  bool failed_ = false;
};

TEST(PendingUnscale, StaysPendingIfApplyingItThrows) {
  const Tensor g = full({4}, 3.0);
  bool alive = false;
  g.impl().storage->set_pending(std::make_unique<FailsOnce>(alive));
  EXPECT_THROW(g.const_data_ptr<float>(), OutOfMemoryError);
  ASSERT_TRUE(alive) << "the storage still refers to it";
  ASSERT_TRUE(g.storage().has_pending());
  EXPECT_EQ(g[1].item<float>(), 3);
  EXPECT_FALSE(alive);
  EXPECT_FALSE(g.storage().has_pending());
}

}  // namespace
}  // namespace tandem
