// Page-locked memory with a fake driver: when blocks are reused, and when the host waits for a copy.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "cuda_fake/fake_driver.h"
#include "kernels/cuda/tensor_list.h"
#include "src/amp/skip_watch.h"
#include "src/amp/tools/late_values.h"
#include "support/bad_input.h"
#include "tandem/tandem.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::expect_refused;

TEST(FakePinnedMemory, IsPinnedReportsTheMemory) {
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

TEST(FakePinnedMemory, BlockIsReusedOnlyAfterItsCopies) {
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

TEST(FakePinnedMemory, HostWaitsUnlessNonBlocking) {
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

/// Returns the blocks of a size that the cache can hand out now.
std::set<const void*> cached_blocks(size_t bytes) {
  const Calls& calls = Calls::instance();
  std::vector<std::shared_ptr<void>> taken;
  std::set<const void*> blocks;
  for (const int64_t before = calls["cudaHostAlloc"];; blocks.insert(taken.back().get())) {
    taken.push_back(accelerator().allocate_pinned(bytes));
    if (calls["cudaHostAlloc"] > before) return blocks;
  }
}

/// Checks that a block that `use` was given and has dropped is not reused before the device is done with it.
void expect_kept_for_the_device(size_t bytes, const std::function<const void*()>& use) {
  Calls& calls = Calls::instance();
  set_events_done(false);
  calls.reset();
  const void* used = use();
  EXPECT_EQ(cached_blocks(bytes).count(used), 0U);
  EXPECT_EQ(calls.waits(), 0) << calls.str();
  set_events_done(true);
  EXPECT_EQ(cached_blocks(bytes).count(used), 1U);
}

/// Returns the destination of the last copy from the device.
const void* last_destination() {
  const std::vector<Queued>& queue = Calls::instance().queued();
  return std::find_if(queue.rbegin(), queue.rend(), [](const Queued& q) { return q.call == "copy"; })->to;
}

TEST(FakePinnedMemory, KeepsDestinationsOfDeviceCopies) {
  const Tensor x = zeros({1}, kCUDA);
  expect_kept_for_the_device(4, [&] {
    const std::shared_ptr<void> block = accelerator().allocate_pinned(4);
    accelerator().copy_to_pinned(block.get(), x);
    return block.get();
  });
  expect_kept_for_the_device(4, [&] {
    amp::detail::SkipWatch watch(3);
    watch.send_for(zeros({1}, TensorOptions(kInt).device(kCUDA)));
    return last_destination();
  });
  expect_kept_for_the_device(4, [&] {
    const amp::LateValues values({x});
    return last_destination();
  });
}

TEST(FakePinnedMemory, LateValuesMayBeDroppedInACapture) {
  const Tensor x = zeros({1}, kCUDA), y = zeros({8}, kCUDA);
  std::optional<amp::LateValues> values;
  values.emplace(std::vector<Tensor>{x});
  set_events_done(false);
  CUDAGraph graph;
  graph.capture([&] {
    y.add_(1);
    values.reset();
  });
  set_events_done(true);
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(FakePinnedMemory, KeepsTablesOfDestroyedGraphs) {
  const Tensor y = zeros({8}, kCUDA);
  expect_kept_for_the_device(1 << 20, [&] {
    CUDAGraph graph;
    const void* table = nullptr;
    graph.capture([&] {
      y.add_(1);
      upload(std::vector<uint64_t>(1 << 17));
      table = Calls::instance().queued().back().from;
    });
    graph.replay();
    return table;
  });
}

TEST(FakePinnedMemory, OtherThreadsMayPinDuringACapture) {
  const Tensor y = zeros({8}, kCUDA);
  const Stream side = stream_from_pool();
  const auto pin_and_upload = [&] {
    const StreamGuard on(side);
    zeros({20000}).pin_memory().to(kCUDA, /*non_blocking=*/true);
    upload(std::vector<uint64_t>(5000));
  };
  pin_and_upload();  // so that the cache has returned blocks with events to query
  CUDAGraph graph;
  graph.capture([&] {
    y.add_(1);
    std::thread(pin_and_upload).join();
  });
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(FakePinnedMemory, BadInputIsRefused) {
  const Tensor there = zeros({2}, kCUDA), here = zeros({2}), none;
  const TensorOptions pinned_there = TensorOptions(kCUDA).pinned_memory(true);
  expect_refused({
      BAD_INPUT("pin_memory", there.pin_memory(), DeviceError, "on cuda:0", "cpu()"),
      BAD_INPUT("empty", empty({2}, pinned_there), DeviceError, "pinned_memory was requested on cuda", "host memory"),
      BAD_INPUT("record_stream", here.record_stream(current_stream()), DeviceError, "on cpu", "no streams"),
      UNDEFINED("record_stream", none.record_stream(current_stream())),
  });
  fail_next("cudaHostAlloc", cudaErrorMemoryAllocation);
  expect_refused({BAD_INPUT("pin_memory", zeros({1 << 20}).pin_memory(), OutOfMemoryError, "4194304 bytes",
                            "page-locked memory")});
}

}  // namespace
}  // namespace tandem::cuda::testing
