#include "tandem/tensor/cpu_capability.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/simd_levels.h"

namespace tandem::testing {
namespace {

class CpuCapability : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(CpuCapability);

TEST_P(CpuCapability, NamesTheLevelInUse) { EXPECT_EQ(get_cpu_capability(), cpu::name(GetParam())); }

TEST(CpuProducts, WideDtypesAreNeverWidened) {
  EXPECT_TRUE(cpu_multiplies(kFloat));
  EXPECT_TRUE(cpu_multiplies(kDouble));
}

TEST(CpuProducts, NarrowDtypesNeedInstructions) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512f")) {  // AVX512-BF16, AVX512-FP16 and AMX imply it
    EXPECT_FALSE(cpu_multiplies(kBFloat16));
    EXPECT_FALSE(cpu_multiplies(kHalf));
  }
#endif
  EXPECT_FALSE(cpu_multiplies(kFloat8_e4m3fn));
  EXPECT_FALSE(cpu_multiplies(kLong));
}

TEST(CpuProducts, LibrarySaysItsVersion) {
  const CpuProductLibrary library = cpu_product_library();
  if (library.name == "none") return;
  EXPECT_TRUE(library.name == "oneDNN" || library.name == "OpenBLAS") << library.name;
  EXPECT_EQ(std::count(library.version.begin(), library.version.end(), '.'), 2) << library.version;
  EXPECT_FALSE(library.isa.empty());
}

}  // namespace
}  // namespace tandem::testing
