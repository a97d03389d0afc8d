// A program on a machine without a GPU, or in a build without CUDA: clear errors, and the CPU keeps working.
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

TEST(NoDevice, EveryCallGivesTheReason) {
  if (cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  const std::string why = cuda::unavailable_reason();
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(cuda::device_count(), 0);
  EXPECT_THROWS(empty({2}, kCUDA), DeviceError, "empty: ", why, "Device(kCPU)");
  EXPECT_THROWS(ones({2}).cuda(), DeviceError, "cuda: ");
  EXPECT_THROWS(cuda::current_device(), DeviceError, why, "Device(kCPU)");
  EXPECT_THROWS(cuda::set_device(0), DeviceError, why);
  EXPECT_THROWS(cuda::synchronize(), DeviceError, why);
  EXPECT_THROWS(cuda::get_device_properties(0), DeviceError, why);
  EXPECT_THROWS(cuda::current_stream(), DeviceError, why);
  EXPECT_THROWS(cuda::DeviceGuard(0), DeviceError, why);
  cuda::CUDAGraph graph;
  EXPECT_THROWS(graph.capture([] {}), DeviceError, "capture: ", why);
  EXPECT_THROWS(graph.replay(), DeviceError, "replay: ", why);
  EXPECT_FALSE(cuda::is_current_stream_capturing());
  EXPECT_EQ(cuda::memory_allocated(), 0);
  EXPECT_EQ(cuda::max_memory_allocated(), 0);
  EXPECT_EQ(cuda::memory_reserved(), 0);
  cuda::empty_cache();
  cuda::reset_peak_memory_stats();
  EXPECT_EQ(ones({2}).sum().item<float>(), 2) << "the CPU keeps working";
}

}  // namespace
}  // namespace tandem
