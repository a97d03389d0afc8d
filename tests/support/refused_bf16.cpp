// On a CUDA device that does not multiply bf16, such as a T4, skips the tests that ask it to.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "support/device.h"
#include "tandem/cuda/device.h"

namespace tandem::testing {
namespace {

/// The part of the library's message that names the fault.
constexpr std::string_view kRefusal = "products and convolutions of bf16 need compute capability 8.0";

/// Holds the failures of a test back until it ends. One that consists of the refusal, or follows from it, turns into a
/// reason for skipping the test; the others are reported then.
class SkipRefusedTests : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override {
    if (!on_cuda() || cuda::is_bf16_supported()) return;
    results_.emplace();
    reporter_.emplace(::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &*results_);
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (!reporter_) return;
    reporter_.reset();
    if (refused()) return skip("the device does not multiply bf16");
    for (int i = 0; i < results_->size(); ++i) {
      const ::testing::TestPartResult& part = results_->GetTestPartResult(i);
      if (part.failed())
        ADD_FAILURE_AT(part.file_name() ? part.file_name() : "unknown file", part.line_number()) << part.message();
      if (part.skipped()) skip(part.message());
    }
  }

 private:
  bool refused() const {
    for (int i = 0; i < results_->size(); ++i) {
      const ::testing::TestPartResult& part = results_->GetTestPartResult(i);
      if (part.failed() && std::string_view(part.message()).find(kRefusal) != std::string_view::npos) return true;
    }
    return false;
  }
  static void skip(const char* reason) { GTEST_SKIP() << reason; }

  std::optional<::testing::TestPartResultArray> results_;
  std::optional<::testing::ScopedFakeTestPartResultReporter> reporter_;
};

[[maybe_unused]] const bool listening = [] {
  if (device_asked_for().is_cuda()) ::testing::UnitTest::GetInstance()->listeners().Append(new SkipRefusedTests);
  return true;
}();

}  // namespace
}  // namespace tandem::testing
