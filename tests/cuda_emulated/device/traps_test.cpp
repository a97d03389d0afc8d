// An index out of range stops the kernel: the next wait reports it, and so does every later call in the process.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "cuda_emulated/device/device.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

using tandem::testing::mismatch;

void expect_trap(const std::function<void()>& op) {
  op();  // not yet known to the host
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROWS(synchronize(), BackendError, "synchronize: ", "can no longer use the device", "TANDEM_SYNC=1");
  }
  emulated::revive_device();
  EXPECT_NO_THROW(synchronize());
}

TEST(EmulatedTraps, IndexOutOfRange) {
  const DefaultDeviceGuard on_device(kCUDA);
  const Tensor x = ones({10}), y = ones({600});
  const Backend& kernels = backend(kCUDA);
  for (const int64_t bad : {int64_t{-1}, int64_t{10}, int64_t{1000000000}}) {
    for (const DType dtype : {kLong, kInt}) {
      std::vector<int64_t> indices(600, 3);
      indices[200] = bad;
      const Tensor index = tensor(indices, dtype);
      expect_trap([&] { kernels.gather(y, x, 0, index); });
      expect_trap([&] { kernels.index_select(y, x, 0, index); });
      for (const bool deterministic : {false, true}) {
        set_deterministic(deterministic);
        expect_trap([&] { kernels.scatter_add(x, 0, index, y); });
        expect_trap([&] { kernels.index_add(x, 0, index, y); });
        if (dtype == kInt) continue;
        expect_trap([&] { kernels.scatter(x, kernels::Scatter::assign, 0, index, y); });
        expect_trap([&] { kernels.scatter(x, kernels::Scatter::max, 0, index, y); });
      }
      set_deterministic(false);
    }
  }
}

TEST(EmulatedTraps, WrappedIndexOutOfRange) {
  const DefaultDeviceGuard on_device(kCUDA);
  const Tensor x = ones({10});
  for (const int64_t bad : {int64_t{-11}, int64_t{10}, int64_t{1000000000}}) {
    for (const DType dtype : {kLong, kInt}) {
      const Tensor index = tensor(std::vector<int64_t>{3, -10, bad}, dtype);
      expect_trap([&] { x.index({index}); });
      expect_trap([&] { x.index_put_({index}, 1); });
    }
  }
}

TEST(EmulatedTraps, ClassOutOfRange) {
  const DefaultDeviceGuard on_device(kCUDA);
  const Tensor logits = ones({10, 3}), loss = empty({10}), max = empty({10}), log_sum = empty({10}), none;
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1000000000}}) {
    for (const DType dtype : {kLong, kInt}) {
      std::vector<int64_t> target(10, 2);
      target[7] = bad;
      const Tensor y = tensor(target, dtype);
      expect_trap([&] { backend(kCUDA).cross_entropy(loss, none, max, log_sum, logits, y, none, -100); });
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
