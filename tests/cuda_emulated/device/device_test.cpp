// Tests of the emulated device: it reveals program errors that on a GPU would cause wrong results only sometimes.
#include "cuda_emulated/device/device.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda_emulated/device/queue.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/cuda/memory.h"
#include "tandem/cuda/stream.h"
#include "tandem/optim/lamb.h"
#include "tandem/tandem.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::cuda {
namespace {

using tandem::testing::mismatch;

TEST(EmulatedDeviceDeathTest, HostCannotAccessItsMemory) {
  const Tensor x = ones({4}, kCUDA);
  synchronize();
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(x.raw_bytes())), "reads or writes the emulated device");
}

TEST(EmulatedDeviceDeathTest, AChildOfForkCannotUseIt) {
  const Tensor x = ones({4}, kCUDA);
  EXPECT_EXIT(
      {
        const bool refused = !mismatch<BackendError>([&] { x.add_(1); }, {"cudaErrorInitializationError"}).size();
        std::_Exit(refused ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(EmulatedDevice, RoundsFactorsWhereTf32IsAllowed) {
  // 1 + 2^-12 needs 12 bits of mantissa.
  const Tensor a = full({8, 8}, 1 + 0x1p-12, kCUDA), image = a.view({1, 1, 8, 8}), kernel = ones({1, 1, 1, 1}, kCUDA);
  const bool conv_allowed = allow_tf32_conv();
  for (const bool allowed : {false, true}) {
    set_allow_tf32_matmul(allowed);
    set_allow_tf32_conv(allowed);
    const float one = allowed ? 1 : 1 + 0x1p-12f;
    EXPECT_EQ(mm(a, eye(8, kCUDA)).max().item<float>(), one);
    EXPECT_EQ(conv2d(image, kernel).max().item<float>(), one);
  }
  set_allow_tf32_matmul(false);
  set_allow_tf32_conv(conv_allowed);
}

TEST(EmulatedDevice, RevealsMissingStreamOrder) {
  const Stream other = stream_from_pool();
  for (const bool waits : {false, true}) {
    const Tensor x = zeros({4}, kCUDA);
    synchronize();
    x.add_(1);
    Tensor y;
    {
      const StreamGuard on(other);
      if (waits) other.wait_stream(Stream(Device(kCUDA, 0)));
      y = x * 2;
      EXPECT_EQ(y.sum().item<float>(), waits ? 8 : 0);
    }
    synchronize();
    EXPECT_EQ(x.sum().item<float>(), 4);
  }
}

TEST(EmulatedDevice, RunsWorkLate) {
  const Tensor pinned = empty({4}, TensorOptions().pinned_memory(true)), x = full({4}, 3.0, kCUDA);
  pinned.fill_(0);
  accelerator().copy_to_pinned(pinned.raw_bytes(), x);
  EXPECT_EQ(pinned[0].item<float>(), 0) << "not synchronized yet";
  Event event;
  event.record();
  event.synchronize();
  EXPECT_EQ(pinned[0].item<float>(), 3);
}

TEST(EmulatedDevice, ReadsPinnedMemoryLate) {
  const Tensor pinned = empty({4}, TensorOptions().pinned_memory(true)), plain = ones({4});
  pinned.fill_(1);
  const Tensor early = plain.to(kCUDA, /*non_blocking=*/true), late = pinned.to(kCUDA, /*non_blocking=*/true);
  plain.fill_(7);
  pinned.fill_(7);
  EXPECT_EQ(early.sum().item<float>(), 4);
  EXPECT_EQ(late.sum().item<float>(), 28) << "the program wrote it before the copy was done";
}

/// Creates x on one stream, reads it on another and frees it; then writes its memory again on the first stream. `told`:
/// whether the allocator was told of the second stream. Returns the value that was read.
float read_after_free(const Stream& made_on, const Stream& read_on, bool told) {
  const StreamGuard on(made_on);
  Tensor x = ones({1 << 20}, kCUDA);
  const Tensor y = empty({1 << 20}, kCUDA);
  read_on.wait_stream(made_on);
  {
    const StreamGuard there(read_on);
    y.copy_(x);
  }
  if (told) x.record_stream(read_on);
  x = Tensor();
  x = full({1 << 20}, 5.0, kCUDA);
  synchronize();
  return y[0].item<float>();
}

TEST(EmulatedDevice, RevealsMemoryReusedTooEarly) {
  const Stream main(Device(kCUDA, 0)), side = stream_from_pool();
  const emulated::Order before = emulated::set_order(emulated::Order::late);
  for (const bool told : {false, true}) {
    empty_cache();
    emulated::set_order(emulated::Order::late);
    EXPECT_EQ(read_after_free(main, side, told), told ? 1 : 5) << "the side has not read it yet";
    emulated::set_order(emulated::Order::sides_first);
    EXPECT_EQ(read_after_free(side, main, told), told ? 1 : 5) << "the main stream has not read it yet";
  }
  emulated::set_order(before);
}

TEST(EmulatedDevice, HasLimitedMemory) {
  empty_cache();
  const int64_t reserved = memory_reserved();
  EXPECT_THROWS(empty({int64_t{1} << 29}, kCUDA), OutOfMemoryError, "empty: ", "2147483648 bytes requested");
  EXPECT_EQ(memory_reserved(), reserved);
  const auto [free, total] = mem_get_info();
  const Tensor x = empty({4 << 20}, kCUDA);
  EXPECT_EQ(mem_get_info().first, free - (16U << 20));
  EXPECT_EQ(mem_get_info().second, total);
}

TEST(EmulatedDevice, AStepWithoutMemoryForItsLastGroupChangesNothing) {
  const Tensor small = ones({8}, kCUDA).requires_grad_(), large = ones({2 << 20}, kCUDA).requires_grad_();
  optim::LAMB lamb({optim::OptimizerParamGroup({small}), optim::OptimizerParamGroup({large})}, optim::LAMBOptions(0.1));
  (small.sum() + large.sum()).backward();
  lamb.step();
  const Tensor before = small.detach().clone();
  empty_cache();
  {
    std::vector<Tensor> filler;  // leaves no room for the 8 MiB of the large parameter's updates
    for (int64_t size = 128 << 20; size >= 1 << 20;) {
      try {
        filler.push_back(empty({size}, kCUDA));
      } catch (const OutOfMemoryError&) {
        size /= 2;
      }
    }
    EXPECT_THROWS(lamb.step(), OutOfMemoryError, "8388608 bytes requested");
    EXPECT_TRUE(equal(small, before));
  }
  lamb.step();
  EXPECT_FALSE(equal(small, before));
}

}  // namespace
}  // namespace tandem::cuda
