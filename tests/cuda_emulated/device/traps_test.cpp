// An index out of range stops the kernel: the next wait says so, and so does every later call, until the process ends.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "cuda_emulated/device/device.h"
#include "support/throws.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

using tandem::testing::mismatch;

void expect_trap(const std::function<void()>& op) {
  op();  // the host has not heard of it
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROWS(synchronize(), BackendError, "synchronize: ", "can no longer be used", "TANDEM_SYNC=1");
  }
  emulated::revive_device();
  EXPECT_NO_THROW(synchronize());
}

TEST(EmulatedTraps, IndexOutOfRange) {
  const DefaultDeviceGuard on_device(kCUDA);
  const Tensor x = ones({10}), y = ones({600});
  for (const int64_t bad : {int64_t{-1}, int64_t{10}, int64_t{1000000000}}) {
    std::vector<int64_t> indices(600, 3);
    indices[200] = bad;
    const Tensor index = tensor(indices);
    expect_trap([&] { gather(x, 0, index); });
    expect_trap([&] { index_select(x, 0, index); });
    for (const bool deterministic : {false, true}) {
      set_deterministic(deterministic);
      expect_trap([&] { scatter_add(x, 0, index, y); });
      expect_trap([&] { index_add(x, 0, index, y); });
    }
    set_deterministic(false);
  }
}

TEST(EmulatedTraps, ClassOutOfRange) {
  const DefaultDeviceGuard on_device(kCUDA);
  const Tensor logits = ones({10, 3});
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1000000000}}) {
    std::vector<int64_t> target(10, 2);
    target[7] = bad;
    const Tensor y = tensor(target);
    expect_trap([&] { cross_entropy(logits, y); });
  }
}

}  // namespace
}  // namespace tandem::cuda
