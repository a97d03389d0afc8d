// Tests of two emulated devices: work, memory, streams and events belong to one device, and copies cross.
#include <gtest/gtest.h>

#include <functional>

#include "cuda_emulated/device/device.h"
#include "cuda_emulated/device/queue.h"
#include "kernels/cuda/driver.h"
#include "support/throws.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/memory.h"
#include "tandem/cuda/stream.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

using tandem::testing::mismatch;

const Device kFirst(kCUDA, 0), kSecond(kCUDA, 1);

/// Runs `body` in both orders of streams.
void in_both_orders(const std::function<void()>& body) {
  const emulated::Order before = emulated::set_order(emulated::Order::late);
  body();
  emulated::set_order(emulated::Order::sides_first);
  body();
  emulated::set_order(before);
}

TEST(TwoDevices, GuardsRestoreTheCurrentDevice) {
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(current_device(), 0);
  {
    const DeviceGuard guard(1);
    EXPECT_EQ(current_device(), 1);
    EXPECT_EQ(ones({2}, kCUDA).device(), kSecond);
    const DeviceGuard inner(0);
    EXPECT_EQ(ones({2}, kCUDA).device(), kFirst);
  }
  EXPECT_EQ(current_device(), 0);
  const Tensor x = ones({3, 4}, kSecond);
  EXPECT_EQ(matmul(x, x.t()).softmax(1).sum().item<float>(), 3);
  EXPECT_EQ(current_device(), 0) << "ops restore it too";
  EXPECT_THROWS(set_device(2), DeviceError, "no CUDA device 2", "[0, 1]");
}

TEST(TwoDevices, CopiesCrossInOrder) {
  in_both_orders([] {
    for (const auto& [here, there] : {std::pair(kFirst, kSecond), std::pair(kSecond, kFirst)}) {
      const Tensor x = zeros({1000}, here);
      x.add_(3);
      const Tensor y = x.to(there);
      x.fill_(7);  // after the copy
      EXPECT_EQ(y.device(), there);
      synchronize();  // the current device first
      EXPECT_EQ(x.max().item<float>(), 7);
      EXPECT_EQ(y.min().item<float>(), 3);
      EXPECT_EQ(y.max().item<float>(), 3);
    }
  });
}

TEST(TwoDevices, CopiesDoNotPassThroughTheHost) {
  const int64_t before = emulated::counts().copies_through_host;
  const Tensor x = ones({4}, kSecond).to(kFirst);
  EXPECT_EQ(x.to(kSecond).sum().item<float>(), 4);
  EXPECT_EQ(emulated::counts().copies_through_host, before);
}

TEST(TwoDevices, CopiesFollowTheCurrentStreams) {
  in_both_orders([] {
    const Stream here = stream_from_pool(kFirst), there = stream_from_pool(kSecond);
    for (int i = 0; i < 3; ++i) {
      Tensor x, y;
      {
        const StreamGuard on_there(there);
        const StreamGuard on_here(here);
        x = full({1000}, 2.0 + i, kFirst);
        y = x.to(kSecond);
        x.fill_(9);
      }
      x = Tensor();  // its memory may be reused on its stream, after the copy
      const StreamGuard on_here(here);
      full({1000}, -1.0, kFirst);
      here.synchronize();
      const StreamGuard on_there(there);
      EXPECT_EQ(y.min().item<float>(), 2 + i);
      EXPECT_EQ(y.max().item<float>(), 2 + i);
    }
  });
}

TEST(TwoDevices, CopiesConvertAndKeepStrides) {
  in_both_orders([] {
    const Tensor host = arange(24).view({4, 6}), x = host.to(kFirst);
    for (const bool non_blocking : {false, true}) {
      const Tensor halves = empty({6, 4}, TensorOptions(kHalf).device(kSecond)).t();
      halves.copy_(x, non_blocking);
      EXPECT_TRUE(halves.to(kCPU).to(kFloat).equal(host));
      const Tensor columns = zeros({4, 6}, kSecond);
      columns.slice(1, 0, 6, 2).copy_(x.slice(1, 1, 6, 2), non_blocking);
      EXPECT_TRUE(columns.slice(1, 0, 6, 2).to(kCPU).equal(host.slice(1, 1, 6, 2)));
      EXPECT_EQ(columns.slice(1, 1, 6, 2).abs().max().item<float>(), 0);
    }
  });
}

TEST(TwoDevices, OpsRefuseInputsOfBoth) {
  const Tensor x = ones({3, 3}, kFirst), y = ones({3, 3}, kSecond);
  EXPECT_THROWS(x + y, DeviceError, "add: ", "cuda:0", "cuda:1");
  EXPECT_THROWS(matmul(x, y), DeviceError, "matmul: ", "cuda:0", "cuda:1");
  EXPECT_THROWS(cat({x, y}), DeviceError, "cat: ", "cuda:0", "cuda:1");
  EXPECT_THROWS(mse_loss(x, y), DeviceError, "mse_loss: ", "cuda:0", "cuda:1");
  EXPECT_THROWS(x.add_(y), DeviceError, "add_: ", "cuda:0", "cuda:1");
}

TEST(TwoDevices, AllocatorsCountSeparately) {
  empty_cache();
  const AllocatorStats first = memory_stats(0), second = memory_stats(1);
  const auto free = mem_get_info(0).first;
  {
    const Tensor x = empty({5 << 20}, kSecond);
    EXPECT_EQ(memory_allocated(0), first.allocated_bytes);
    EXPECT_EQ(memory_reserved(0), first.reserved_bytes);
    EXPECT_EQ(memory_allocated(1), second.allocated_bytes + (20 << 20));
    EXPECT_EQ(memory_stats(1).allocations, second.allocations + 1);
    EXPECT_EQ(mem_get_info(0).first, free);
    EXPECT_EQ(mem_get_info(1).first, mem_get_info(1).second - static_cast<size_t>(memory_reserved(1)));
  }
  EXPECT_EQ(memory_allocated(1), second.allocated_bytes);
  EXPECT_EQ(memory_reserved(1), second.reserved_bytes + (20 << 20)) << "cached";
  empty_cache();
  EXPECT_EQ(memory_reserved(1), second.reserved_bytes);
  EXPECT_THROWS(empty({int64_t{1} << 29}, kSecond), OutOfMemoryError, "2147483648 bytes requested");
}

TEST(TwoDevices, EventsAndStreamsBelongToOne) {
  const Driver& d = driver();
  const Stream here = stream_from_pool(kFirst), there = stream_from_pool(kSecond);
  const auto raw = [](const Stream& s) { return static_cast<cudaStream_t>(s.handle()); };
  cudaEvent_t event = nullptr, other = nullptr;
  d.cudaEventCreateWithFlags(&event, cudaEventDefault);
  EXPECT_EQ(d.cudaEventRecord(event, raw(there)), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(d.cudaEventRecord(event, raw(here)), cudaSuccess);
  {
    const DeviceGuard guard(1);
    EXPECT_EQ(d.cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle) << "the current device's stream";
    EXPECT_EQ(d.cudaStreamWaitEvent(nullptr, event, 0), cudaSuccess);
    EXPECT_EQ(d.cudaEventSynchronize(event), cudaSuccess);
    d.cudaEventCreateWithFlags(&other, cudaEventDefault);
    EXPECT_EQ(d.cudaEventRecord(other, raw(there)), cudaSuccess);
  }
  float time = 0;
  EXPECT_EQ(d.cudaEventElapsedTime(&time, event, other), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(d.cudaGetLastError(), cudaErrorInvalidResourceHandle);
  d.cudaEventDestroy(event);
  d.cudaEventDestroy(other);
  EXPECT_THROWS(emulated::submit(raw(there), [] {}), BackendError, "cudaErrorInvalidResourceHandle");
  EXPECT_NO_THROW(emulated::submit(raw(here), [] {}));
  EXPECT_EQ(d.cudaSetDevice(2), cudaErrorInvalidDevice);
  d.cudaGetLastError();
}

TEST(TwoDevices, MemoryUsedByTheOthersStreamIsNotReusedEarly) {
  in_both_orders([] {
    const Stream made_on = stream_from_pool(kFirst), side = stream_from_pool(kFirst);
    for (const Stream& reader : {current_stream(kSecond), stream_from_pool(kSecond)}) {
      const StreamGuard there(reader);
      const StreamGuard here(made_on);
      Tensor x = full({1 << 20}, 2.0, kFirst), y;
      side.wait_stream(made_on);
      {
        const StreamGuard on_side(side);
        y = x.to(kSecond);
      }
      x.record_stream(reader);
      x = Tensor();
      full({1 << 20}, -1.0, kFirst);
      made_on.synchronize();
      EXPECT_EQ(y.min().item<float>(), 2);
    }
  });
}

TEST(TwoDevices, AnEventBelongsToOne) {
  Event first(true), second(true);
  first.record(current_stream(kFirst));
  EXPECT_THROWS(first.record(current_stream(kSecond)), DeviceError, "another device", "cuda:1");
  second.record(current_stream(kSecond));
  EXPECT_THROWS(first.elapsed_time(second), DeviceError, "elapsed_time: ", "different devices");
  Event moved = std::move(second);
  EXPECT_NO_THROW(moved.record(stream_from_pool(kSecond)));
  EXPECT_NO_THROW(moved.synchronize());
}

TEST(TwoDevices, TandemsEventsMayWaitForEither) {
  in_both_orders([] {
    const Tensor x = zeros({100}, kFirst), y = zeros({100}, kSecond);
    x.add_(1);
    Event event;
    event.record(current_stream(kFirst));
    event.block(current_stream(kSecond));
    y.add_(1);
    const DeviceGuard guard(1);
    synchronize();
    EXPECT_TRUE(event.query()) << "the second device has waited for it";
    event.synchronize();
  });
}

TEST(TwoDevices, WaitingForOneLeavesTheOtherBehind) {
  const emulated::Order before = emulated::set_order(emulated::Order::late);
  const Tensor x = zeros({100}, kFirst), y = zeros({100}, kSecond);
  Event first, second;
  first.record(current_stream(kFirst));
  second.record(current_stream(kSecond));
  bool ran = false;
  emulated::submit(nullptr, [&] { ran = true; });
  {
    const DeviceGuard guard(1);
    synchronize();
    EXPECT_FALSE(ran);
  }
  synchronize();
  EXPECT_TRUE(ran);
  emulated::set_order(before);
}

/// A death test in a process of its own.
TEST(TwoDevicesDeathTest, KernelsCannotAccessTheOthersMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork() cannot launch
  const Tensor x = ones({4}, kSecond);
  auto* const data = static_cast<volatile float*>(x.raw_bytes());
  EXPECT_DEATH(
      {
        emulated::submit(nullptr, [&] { data[0] = 1; });
        synchronize();
      },
      "memory of another emulated device");
}

TEST(TwoDevices, CopiesMustNameTheirKind) {
  const Tensor x = ones({4}, kSecond), host = ones({4});
  const auto copy = [&](const Tensor& to, const Tensor& from, cudaMemcpyKind kind) {
    return driver().cudaMemcpyAsync(to.raw_bytes(), from.raw_bytes(), 16, kind, nullptr);
  };
  EXPECT_THROW(copy(x, host, cudaMemcpyDeviceToHost), emulated::Misuse);
  EXPECT_THROW(copy(host, x, cudaMemcpyHostToDevice), emulated::Misuse);
  EXPECT_EQ(copy(x, host, cudaMemcpyHostToDevice), cudaSuccess) << "the stream may belong to another device";
  synchronize();
}

}  // namespace
}  // namespace tandem::cuda
