#pragma once
// SimdLevels: a fixture that runs each test once per SIMD level of the processor.
#include <gtest/gtest.h>

#include <string>

#include "kernels/cpu/simd/dispatch.h"

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

}  // namespace tandem::testing

/// Instantiates a fixture derived from SimdLevels; on an emulated CUDA device, which has none, for one level.
#if defined(TANDEM_EMULATED_CUDA)
#define TANDEM_AT_EVERY_SIMD_LEVEL(FIXTURE) \
  INSTANTIATE_TEST_SUITE_P(Emulated, FIXTURE, ::testing::Values(::tandem::cpu::kSimdLevels[0]))
#else
#define TANDEM_AT_EVERY_SIMD_LEVEL(FIXTURE)                                                  \
  INSTANTIATE_TEST_SUITE_P(Levels, FIXTURE, ::testing::ValuesIn(::tandem::cpu::kSimdLevels), \
                           [](const auto& level) { return std::string(::tandem::cpu::name(level.param)); })
#endif
