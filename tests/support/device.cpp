#include "support/device.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/amp/autocast.h"
#include "tandem/cuda/device.h"

namespace tandem::testing {
namespace {

/// The low dtype of regions is the CPU's default on either device, so that a test's expectations hold on both.
struct ChooseDevice : ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    if (cuda::is_available()) return;
    std::printf("skipped: %s\n", cuda::unavailable_reason().c_str());
    std::exit(77);
  }
  void OnTestStart(const ::testing::TestInfo& test) override {
    // Bad input is refused before any kernel, and indices out of range are refused on the CPU only.
    const bool on_host = std::string_view(test.test_suite_name()).find("Errors") != std::string_view::npos;
    set_default_device(on_host ? Device(kCPU) : device_asked_for());
    if (on_cuda()) amp::set_autocast_dtype(kCUDA, kBFloat16);
  }
};

[[maybe_unused]] const bool chosen = [] {
  if (device_asked_for().is_cuda()) ::testing::UnitTest::GetInstance()->listeners().Append(new ChooseDevice);
  return true;
}();

}  // namespace
}  // namespace tandem::testing
