// Products with a packed matrix against plain sums in f64.
#include "kernels/cpu/panel_matrix.h"

#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"
#include "support/simd_levels.h"

namespace tandem::testing {
namespace {

class PanelMatrix : public SimdLevels {
 protected:
  void SetUp() override {
    SKIP_ON_CUDA("a part of the CPU backend");
    SimdLevels::SetUp();
  }
};
TANDEM_AT_EVERY_SIMD_LEVEL(PanelMatrix);

template <class T>
void check(int64_t m, int64_t n, int64_t k, MemoryLayout layout, bool with_bias, bool accumulate) {
  const DType dtype = dtype_of<T>;
  const Tensor a = noise({m, k}, dtype, 1), b = noise({k, n}, dtype, 2, layout), bias = noise({n}, dtype, 3),
               d = noise({m, n}, dtype, 4);
  const std::vector<double> left = read(a), right = read(b), offset = read(bias);
  std::vector<double> expected = read(d);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = accumulate ? expected[i * n + j] : 0;
      if (with_bias) sum += offset[j];
      for (int64_t p = 0; p < k; ++p) sum += left[i * k + p] * right[p * n + j];
      expected[i * n + j] = sum;
    }
  }
  const cpu::PanelMatrix<T> packed(b);
  packed.multiply(d.raw<T>(), a.raw<T>(), with_bias ? bias.raw<T>() : nullptr, m, accumulate);
  expect_near(d, expected, k, std::string(name(dtype)) + " " + to_string({m, n, k}));
}

TEST_P(PanelMatrix, EqualsPlainSums) {
  for (int64_t m : {0, 1, 5, 7, 16, 29}) {  // whole and partial tiles of rows
    for (int64_t n : {1, 16, 63, 80, 144}) {
      for (int64_t k : {1, 17, 130}) {
        for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
          check<float>(m, n, k, layout, m % 2 == 0, n % 2 == 0);
          check<double>(m, n, k, layout, n % 2 == 0, m % 2 == 0);
        }
      }
    }
  }
}

// Rows beside each other in memory must not be touched by the padding of panels.
TEST_P(PanelMatrix, WritesOnlyItsResult) {
  const Tensor a = noise({6, 9}, kFloat, 1), b = noise({9, 20}, kFloat, 2), all = noise({8, 20}, kFloat, 3);
  const std::vector<double> before = read(all);
  cpu::PanelMatrix<float>(b).multiply(all.raw<float>() + 20, a.raw<float>(), nullptr, 6, false);
  const std::vector<double> after = read(all);
  for (int64_t j = 0; j < 20; ++j) {
    EXPECT_EQ(after[j], before[j]);
    EXPECT_EQ(after[7 * 20 + j], before[7 * 20 + j]);
    EXPECT_NE(after[20 + j], before[20 + j]);
  }
}

}  // namespace
}  // namespace tandem::testing
