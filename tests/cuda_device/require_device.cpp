// Without a CUDA device the whole program is skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tandem/cuda/device.h"

namespace tandem::cuda::testing {
namespace {

struct RequireDevice : ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    if (is_available()) return;
    std::printf("skipped: %s\n", unavailable_reason().c_str());
    std::exit(77);
  }
};

[[maybe_unused]] const bool added = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new RequireDevice);
  return true;
}();

}  // namespace
}  // namespace tandem::cuda::testing
