// Parsing and printing of devices.
#include "tandem/base/device.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

TEST(Device, NamesRoundTrip) {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:17", "cpu:0"}) EXPECT_EQ(Device(text).str(), text);
  EXPECT_EQ(Device("cuda:1"), Device(kCUDA, 1));
  EXPECT_TRUE(Device(kCPU).is_cpu());
  EXPECT_TRUE(Device("cuda").is_cuda());
  EXPECT_EQ(Device("cuda:3").index(), 3);
}

TEST(Device, EqualityIgnoresTheIndexOfTheCpuOnly) {
  EXPECT_EQ(Device("cpu"), Device("cpu:0"));
  EXPECT_NE(Device(kCUDA, 0), Device(kCUDA, 1));
  EXPECT_NE(Device(kCPU), Device(kCUDA));
}

TEST(Device, InvalidTextIsRefused) {
  for (const char* text : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:128", "cuda:1000000", "cuda:1:2"}) {
    EXPECT_THROWS(Device(text), DeviceError, "Device: ", std::string("'") + text + "'", "use");
  }
}

TEST(Device, InvalidIndicesAreRefused) {
  for (int index : {-2, 128, 300})
    EXPECT_THROWS(Device(kCUDA, index), DeviceError, "Device: ", std::to_string(index), "[0, 127]");
}

}  // namespace
}  // namespace tandem
