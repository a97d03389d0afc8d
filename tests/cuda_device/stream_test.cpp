// Streams and events order the work of several streams.
#include <gtest/gtest.h>

#include "tandem/cuda/event.h"
#include "tandem/cuda/stream.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

TEST(Streams, AStreamThatWaitsSeesTheOthersResults) {
  const Stream other = stream_from_pool();
  const Tensor x = zeros({1 << 20}, kCUDA);
  for (int i = 1; i <= 20; ++i) {
    x.add_(1);
    Tensor y;
    {
      const StreamGuard on(other);
      other.wait_stream(Stream(Device(kCUDA, 0)));
      y = x * 2;
      EXPECT_EQ(y.max().item<float>(), 2 * i);
      EXPECT_EQ(y.min().item<float>(), 2 * i);
    }
  }
}

TEST(Streams, AnEventTellsThatWorkIsDone) {
  const Tensor x = zeros({1 << 20}, kCUDA), pinned = empty({1 << 20}, TensorOptions().pinned_memory(true));
  x.add_(3);
  pinned.copy_(x, /*non_blocking=*/true);
  Event event;
  event.record();
  event.synchronize();
  EXPECT_TRUE(event.query());
  EXPECT_EQ(pinned.min().item<float>(), 3);
}

TEST(Streams, MemoryFreedOnOneStreamIsNotOverwrittenByAnother) {
  const Stream other = stream_from_pool();
  for (int i = 0; i < 20; ++i) {
    Tensor sums;
    {
      const Tensor x = full({1 << 20}, static_cast<double>(i), kCUDA);
      const StreamGuard on(other);
      other.wait_stream(Stream(Device(kCUDA, 0)));
      x.record_stream(other);
      sums = x.mean();
    }
    full({1 << 20}, -1.0, kCUDA);  // takes the memory of x if it is free
    const StreamGuard on(other);
    EXPECT_EQ(sums.item<float>(), i);
  }
}

}  // namespace
}  // namespace tandem::cuda::testing
