#pragma once
// SimdLevels: a fixture that runs each test once per SIMD level of the processor.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu/simd/dispatch.h"
#include "support/device.h"

namespace tandem::testing {

class SimdLevels : public ::testing::TestWithParam<cpu::SimdLevel> {
 protected:
  void SetUp() override {
    if (!cpu::simd_level_available(GetParam())) GTEST_SKIP() << "not on this processor";
    cpu::set_simd_level(GetParam());
  }
  void TearDown() override { cpu::set_simd_level(before_); }

 private:
  cpu::SimdLevel before_ = cpu::simd_level();
};

/// The SIMD levels to test; only one on a CUDA device, where they make no difference.
inline std::vector<cpu::SimdLevel> simd_levels() {
  std::vector<cpu::SimdLevel> levels(std::begin(cpu::kSimdLevels), std::end(cpu::kSimdLevels));
  if (device_asked_for().is_cuda()) levels.resize(1);
  return levels;
}

}  // namespace tandem::testing

/// Instantiates a fixture derived from SimdLevels.
#define TANDEM_AT_EVERY_SIMD_LEVEL(FIXTURE)                                                        \
  INSTANTIATE_TEST_SUITE_P(Levels, FIXTURE, ::testing::ValuesIn(::tandem::testing::simd_levels()), \
                           [](const auto& level) { return std::string(::tandem::cpu::name(level.param)); })
