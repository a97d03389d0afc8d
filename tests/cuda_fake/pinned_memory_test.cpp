// Page-locked memory over a fake driver: when blocks are handed out again, and when the host waits for a copy.
#include <gtest/gtest.h>

#include <thread>

#include "cuda_fake/fake_driver.h"
#include "kernels/cuda/tensor_list.h"
#include "support/bad_input.h"
#include "tandem/cuda/memory.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::expect_refused;

TEST(FakePinnedMemory, TensorsKnowWhereTheyLie) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_FALSE(x.is_pinned());
  const Tensor pinned = x.t().pin_memory();
  EXPECT_TRUE(pinned.is_pinned() && pinned.is_cpu());
  EXPECT_EQ(pinned.strides(), x.t().strides());
  EXPECT_TRUE(pinned.eq(x.t()).all().item<bool>());
  EXPECT_TRUE(pinned.narrow(0, 2, 1).is_pinned()) << "a view";
  EXPECT_TRUE(pinned.pin_memory().is_same(pinned));
  EXPECT_FALSE(pinned.clone().is_pinned());
  EXPECT_FALSE(x.to(kCUDA).is_pinned());
  EXPECT_TRUE(zeros({3}, TensorOptions(kHalf).pinned_memory(true)).is_pinned());
  EXPECT_TRUE(empty({0}).pin_memory().is_pinned());
}

TEST(FakePinnedMemory, ABlockIsReusedOnlyAfterItsCopies) {
  Calls& calls = Calls::instance();
  const void* first = nullptr;
  {
    const Tensor x = zeros({20000}).pin_memory();
    first = x.raw_bytes();
    const Tensor there = x.to(kCUDA, /*non_blocking=*/true);
  }
  calls.reset();
  set_events_done(false);
  const Tensor other = zeros({20000}).pin_memory();
  EXPECT_NE(other.raw_bytes(), first) << "the device may still read it";
  set_events_done(true);
  const Tensor again = zeros({20000}).pin_memory();
  EXPECT_EQ(again.raw_bytes(), first);
  EXPECT_EQ(calls.waits(), 0) << calls.str();
}

TEST(FakePinnedMemory, OneEventForEachStream) {
  Calls& calls = Calls::instance();
  const Tensor x = zeros({4}).pin_memory();
  const Stream side = stream_from_pool();
  const auto copy = [&] {
    x.to(kCUDA, /*non_blocking=*/true);
    const StreamGuard on(side);
    x.to(kCUDA, /*non_blocking=*/true);
  };
  copy();
  calls.reset();
  for (int i = 0; i < 5; ++i) copy();
  EXPECT_EQ(calls["cudaEventCreateWithFlags"], 0) << calls.str();
  EXPECT_EQ(calls["cudaEventRecord"], 10) << calls.str();
}

TEST(FakePinnedMemory, TheHostWaitsUnlessToldNotTo) {
  Calls& calls = Calls::instance();
  const Tensor x = zeros({4}), pinned = x.pin_memory(), there = empty({4}, kCUDA);
  const auto waits = [&](const auto& copy) {
    calls.reset();
    copy();
    EXPECT_EQ(calls.copies(), 1);
    return calls.waits();
  };
  EXPECT_EQ(waits([&] { pinned.to(kCUDA); }), 1) << "so that the caller may write it";
  EXPECT_EQ(waits([&] { pinned.to(kCUDA, true); }), 0);
  EXPECT_EQ(waits([&] { there.copy_(pinned); }), 1);
  EXPECT_EQ(waits([&] { there.copy_(pinned, true); }), 0);
  const Tensor recorded = there.clone().requires_grad_() * 1;
  EXPECT_EQ(waits([&] { recorded.copy_(pinned); }), 1);
  EXPECT_EQ(waits([&] { x.to(kCUDA); }), 0) << "the driver has read it when the call returns";
}

TEST(FakePinnedMemory, AnotherThreadMayPinDuringACapture) {
  const Tensor y = zeros({8}, kCUDA);
  const Stream side = stream_from_pool();
  const auto pin_and_upload = [&] {
    const StreamGuard on(side);
    zeros({20000}).pin_memory().to(kCUDA, /*non_blocking=*/true);
    upload(std::vector<uint64_t>(5000));
  };
  pin_and_upload();  // so that blocks have come back, with events to ask
  CUDAGraph graph;
  graph.capture([&] {
    y.add_(1);
    std::thread(pin_and_upload).join();
  });
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(FakePinnedMemory, Refusals) {
  const Tensor there = zeros({2}, kCUDA), here = zeros({2}), none;
  const TensorOptions pinned_there = TensorOptions(kCUDA).pinned_memory(true);
  expect_refused({
      BAD_INPUT("pin_memory", there.pin_memory(), DeviceError, "on cuda:0", "cpu()"),
      BAD_INPUT("empty", empty({2}, pinned_there), DeviceError, "pinned_memory is asked for on cuda", "the host"),
      BAD_INPUT("record_stream", here.record_stream(current_stream()), DeviceError, "on cpu", "no streams"),
      UNDEFINED("record_stream", none.record_stream(current_stream())),
  });
  fail_next("cudaHostAlloc", cudaErrorMemoryAllocation);
  expect_refused({BAD_INPUT("pin_memory", zeros({1 << 20}).pin_memory(), OutOfMemoryError, "4194304 bytes",
                            "page-locked memory")});
}

}  // namespace
}  // namespace tandem::cuda::testing
