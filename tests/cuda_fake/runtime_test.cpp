// Devices, streams, events, memory and errors of the CUDA backend with a fake driver.
#include <gtest/gtest.h>

#include <thread>

#include "cuda_fake/fake_driver.h"
#include "support/throws.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/memory.h"
#include "tandem/tandem.h"
#include "tandem/tensor/capture.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::mismatch;

TEST(FakeRuntime, DevicesAreFoundAndGuarded) {
  EXPECT_TRUE(is_available());
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(get_device_properties(1).name, "fake");
  EXPECT_EQ(current_device(), 0);
  {
    const DeviceGuard guard(1);
    EXPECT_EQ(current_device(), 1);
    EXPECT_EQ(empty({2}, kCUDA).device(), Device(kCUDA, 1));
  }
  EXPECT_EQ(current_device(), 0);
  EXPECT_THROWS(set_device(2), DeviceError, "set_device: ", "no CUDA device 2", "[0, 1]");
  EXPECT_THROWS(empty({2}, Device(kCUDA, 5)), DeviceError, "no CUDA device 5");
}

TEST(FakeRuntime, StreamsAreCurrentPerThreadAndDevice) {
  const Stream ours = stream_from_pool(), default_stream = current_stream();
  EXPECT_FALSE(ours == default_stream);
  {
    const StreamGuard guard(ours);
    EXPECT_TRUE(current_stream() == ours);
    EXPECT_FALSE(current_stream(Device(kCUDA, 1)) == ours);
    set_device(1);
  }
  EXPECT_EQ(current_device(), 0) << "the guard restores the device too";
  EXPECT_TRUE(current_stream() == default_stream);
  {
    const Stream there = stream_from_pool(Device(kCUDA, 1));
    const StreamGuard guard(there);
    EXPECT_EQ(current_device(), 1);
    EXPECT_TRUE(current_stream() == there);
  }
  EXPECT_EQ(current_device(), 0);
  EXPECT_FALSE(current_stream(Device(kCUDA, 1)).handle());
  Event event;
  EXPECT_TRUE(event.query()) << "nothing recorded";
  event.record(ours);
  event.block(default_stream);
  ours.synchronize();
  EXPECT_THROWS(event.elapsed_time(event), StateError, "enable_timing");
}

TEST(FakeRuntime, TensorsReuseDeviceMemory) {
  Calls& calls = Calls::instance();
  empty_cache();
  const int64_t before = memory_allocated();
  { const Tensor warm = empty({1000}, kCUDA); }
  calls.reset();
  for (int i = 0; i < 10; ++i) {
    const Tensor x = empty({1000}, kCUDA);
    EXPECT_EQ(memory_allocated() - before, 4096);
  }
  EXPECT_EQ(calls.allocations(), 0) << calls.str();
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_GE(max_memory_allocated(), before + 4096);
}

TEST(FakeRuntime, ElementwiseOpIsOneLaunch) {
  const Tensor x = empty({1000}, kCUDA), y = empty({1000, 3}, kCUDA).select(1, 0);
  Calls& calls = Calls::instance();
  calls.reset();
  const Tensor sum = x + x;
  EXPECT_EQ(calls.launches(), 1) << calls.str();
  const Tensor strided = x + y;
  EXPECT_EQ(calls.launches(), 2) << calls.str();
  const Tensor nothing = empty({0}, kCUDA) * 2;
  EXPECT_EQ(calls.launches(), 2) << "no launch for an empty tensor";
  EXPECT_EQ(calls.waits() + calls.copies(), 0) << calls.str();
}

TEST(FakeRuntime, ErrorsNameTheOpAndTheCall) {
  const Tensor x = empty({8}, kCUDA);
  fail_next("cudaLaunchKernel", cudaErrorInvalidConfiguration);
  EXPECT_THROWS(x + x, BackendError, "add: ", "cudaLaunchKernel", "cudaErrorInvalidConfiguration");
  fail_next("cudaLaunchKernel", cudaErrorIllegalAddress);
  EXPECT_THROWS(x.exp(), BackendError, "exp: ", "can no longer use the device", "TANDEM_SYNC=1");
  fail_next("cudaDeviceSynchronize", cudaErrorLaunchFailure);
  EXPECT_THROWS(synchronize(), BackendError, "cudaDeviceSynchronize", "compute-sanitizer");
  EXPECT_EQ((x + x).numel(), 8) << "the process can continue";
}

TEST(FakeRuntime, GraphMemoryIsSeparate) {
  empty_cache();
  const int64_t allocated = memory_allocated();
  CUDAGraph graph, second;
  Tensor output;
  const Tensor x = zeros({1000}, kCUDA);
  graph.capture([&] {
    const Tensor temporary = x + x;
    output = temporary * 2;
  });
  empty_cache();
  const int64_t reserved = memory_reserved();
  const void* address = output.data_ptr();
  second.capture([&] { output.mul_((output + x) * 2); }, graph.pool());
  EXPECT_EQ(memory_reserved(), reserved) << "a shared pool";
  {
    const Tensor eager = empty({1000}, kCUDA);
    EXPECT_NE(eager.data_ptr(), address);
  }
  graph.reset();
  second.reset();
  EXPECT_EQ(output.data_ptr(), address);
  output = Tensor();
  empty_cache();
  EXPECT_LT(memory_reserved(), reserved);
  EXPECT_EQ(memory_allocated(), allocated + 4096) << "x is left";
}

TEST(FakeRuntime, GraphKeepsTensorsFreedInItsCapture) {
  CUDAGraph graph;
  const int64_t before = memory_allocated();
  Tensor x = zeros({1000}, kCUDA);
  graph.capture([&] {
    x.add_(1);
    x = Tensor();
  });
  EXPECT_GE(memory_allocated(), before + 4096) << "replays add to it";
  graph.reset();
  EXPECT_EQ(memory_allocated(), before);
}

TEST(FakeRuntime, GraphKeepsFreedTensorsOfOtherGraphs) {
  CUDAGraph a, b;
  const Tensor x = zeros({1000}, kCUDA);
  Tensor output;
  a.capture([&] { output = x + x; });
  const int64_t before = memory_allocated();
  b.capture([&] {
    output.mul_(2);
    output = Tensor();
  });
  EXPECT_EQ(memory_allocated(), before) << "replays of b multiply it";
  a.reset();
  EXPECT_EQ(memory_allocated(), before);
  b.reset();
  EXPECT_EQ(memory_allocated(), before - 4096);
}

TEST(FakeRuntime, ReplayOnAnotherStreamWaitsForTheLast) {
  Calls& calls = Calls::instance();
  const Tensor x = zeros({8}, kCUDA);
  CUDAGraph graph;
  size_t given = 0;  // length of the queue before the replay adds its own work
  graph.capture([&] {
    x.add_(1);
    current_capture()->before_replay([&] { given = calls.queued().size(); });
  });
  const Stream a = stream_from_pool(), b = stream_from_pool();
  const auto replay_on = [&](const Stream& stream) {
    const StreamGuard on(stream);
    calls.reset();
    graph.replay();
    EXPECT_EQ(calls.waits(), 0) << calls.str();
  };
  replay_on(a);
  replay_on(b);
  ASSERT_EQ(given, 2U);
  const Queued& mark = calls.queued()[0];
  const Queued& wait = calls.queued()[1];
  EXPECT_EQ(mark.call + wait.call, "recordwait");
  EXPECT_EQ(mark.stream, a.handle());
  EXPECT_EQ(wait.stream, b.handle());
  EXPECT_EQ(mark.event, wait.event);
  replay_on(b);
  EXPECT_EQ(given, 0U) << "the stream's own order is enough";
}

TEST(FakeRuntime, FailedCaptureIsAbandoned) {
  const Tensor x = zeros({8}, kCUDA);
  CUDAGraph graph;
  fail_next("cudaLaunchKernel", cudaErrorStreamCaptureUnsupported);
  EXPECT_THROWS(graph.capture([&] { x.add_(1); }), StateError, "add_: ", "cudaLaunchKernel", "out of the capture");
  fail_next("cudaStreamEndCapture", cudaErrorStreamCaptureUnjoined);
  EXPECT_THROWS(graph.capture([&] { x.add_(1); }), StateError, "cudaStreamEndCapture", "joined to its stream");
  fail_next("cudaGraphInstantiate", cudaErrorMemoryAllocation);
  EXPECT_THROWS(graph.capture([&] { x.add_(1); }), BackendError, "cudaGraphInstantiate");
  graph.capture([&] { x.add_(1); });
  graph.replay();
  EXPECT_EQ(graph.num_nodes(), 1);
}

/// Returns freed memory, a whole segment, that was recorded as used by another stream.
const void* free_while_used_by(const Stream& other) {
  const Tensor x = empty({4 << 20}, kCUDA);
  x.record_stream(other);
  return x.raw_bytes();
}

TEST(FakeRuntime, EventWithAFailingQueryIsNotDone) {
  empty_cache();
  const void* freed = free_while_used_by(stream_from_pool());
  fail_next("cudaEventQuery", cudaErrorInvalidResourceHandle);
  const Tensor other = empty({4 << 20}, kCUDA);
  EXPECT_NE(other.raw_bytes(), freed) << "it is unknown whether the work is done";
  const Tensor again = empty({4 << 20}, kCUDA);
  EXPECT_EQ(again.raw_bytes(), freed);
}

TEST(FakeRuntime, HostWaitsIfAnEventFails) {
  Calls& calls = Calls::instance();
  for (const char* call : {"cudaEventCreateWithFlags", "cudaEventRecord"}) {
    empty_cache();
    calls.reset();
    fail_next(call, cudaErrorMemoryAllocation);
    const void* freed = free_while_used_by(stream_from_pool());
    EXPECT_EQ(calls["cudaStreamSynchronize"], 1) << call << '\n' << calls.str();
    EXPECT_EQ(empty({4 << 20}, kCUDA).raw_bytes(), freed);
  }
}

TEST(FakeRuntime, AllocatorQueriesNoEventDuringACapture) {
  Calls& calls = Calls::instance();
  empty_cache();
  const Tensor y = zeros({8}, kCUDA);
  set_events_done(false);
  free_while_used_by(stream_from_pool());
  calls.reset();
  once_a_capture_begins([] { std::thread(empty_cache).join(); });
  CUDAGraph graph;
  graph.capture([&] { y.add_(1); });
  set_events_done(true);
  EXPECT_EQ(calls["cudaEventQuery"], 0) << calls.str();
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(FakeRuntime, CaptureThatFailsToBeginHasNoEffect) {
  CUDAGraph graph;
  fail_next("cudaStreamBeginCapture", cudaErrorStreamCaptureUnsupported);
  EXPECT_THROWS(graph.capture([] {}), StateError, "cudaStreamBeginCapture");
  empty_cache();
  const int64_t allocated = memory_allocated(), reserved = memory_reserved();
  { const Tensor x = empty({4 << 20}, kCUDA); }
  EXPECT_EQ(memory_allocated(), allocated);
  empty_cache();
  EXPECT_EQ(memory_reserved(), reserved) << "the memory is returned again";
}

TEST(FakeRuntime, OutOfMemoryRetriesThenReportsSizes) {
  Calls& calls = Calls::instance();
  empty_cache();
  calls.reset();
  fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  { const Tensor x = empty({1 << 20}, kCUDA); }
  EXPECT_EQ(calls["cudaMalloc"], 2) << "the second time after freeing cached blocks";
}

}  // namespace
}  // namespace tandem::cuda::testing
