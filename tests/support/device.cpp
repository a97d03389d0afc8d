#include "support/device.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/amp/autocast.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::testing {
namespace {

/// Sets each test's default device. On CUDA the autocast dtype is the CPU's default (where the device multiplies bf16)
/// and TF32 is off, so that a test's expectations and tolerances hold on both.
struct ChooseDevice : ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    if (cuda::is_available()) return;
    std::printf("skipped: %s\n", cuda::unavailable_reason().c_str());
    std::exit(77);
  }
  void OnTestStart(const ::testing::TestInfo& test) override {
    // Tests of errors stay on the CPU: checks precede any kernel, and only the CPU checks for indices out of range.
    const bool on_host = std::string_view(test.test_suite_name()).find("Errors") != std::string_view::npos;
    set_default_device(on_host ? Device(kCPU) : device_asked_for());
    if (!on_cuda()) return;
    if (cuda::is_bf16_supported()) amp::set_autocast_dtype(kCUDA, kBFloat16);
    cuda::set_allow_tf32_conv(false);
  }
};

[[maybe_unused]] const bool chosen = [] {
  if (device_asked_for().is_cuda()) ::testing::UnitTest::GetInstance()->listeners().Append(new ChooseDevice);
  return true;
}();

}  // namespace
}  // namespace tandem::testing
