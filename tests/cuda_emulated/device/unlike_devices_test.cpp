// A machine whose second device is too old for this build's code: only the first can be used.
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

TEST(UnlikeDevices, TheOneWithoutCodeIsRefusedByName) {
  if (get_device_properties(1).major >= 7) GTEST_SKIP() << "set TANDEM_EMULATED_CAPABILITY=9.0,6.1";
  const Device old(kCUDA, 1);
  EXPECT_EQ(device_count(), 2);
  EXPECT_THROWS(ones({2}, old), DeviceError, "cuda:1 ", "emulated has compute capability 6.1", "CUDA_VISIBLE_DEVICES");
  EXPECT_THROWS(ones({2}, kCUDA).to(old), DeviceError, "cuda:1 ", "6.1");
  EXPECT_THROWS(set_device(1), DeviceError, "set_device: ", "6.1");
  EXPECT_EQ(current_device(), 0);
  EXPECT_EQ(ones({2}, kCUDA).sum().item<float>(), 2);
}

}  // namespace
}  // namespace tandem::cuda
