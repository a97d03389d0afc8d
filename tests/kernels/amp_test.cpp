// unscale, check_finite, update_scale and copy_scale, at every SIMD level.
#include "tandem/math/amp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernels_under_test.h"
#include "kernels/raw_tensors.h"
#include "support/simd_levels.h"

namespace tandem {
namespace {

using namespace testing;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloating[] = {kFloat, kHalf, kBFloat16, kDouble};
constexpr int64_t kSizes[] = {1, 7, 15, 16, 17, 31, 33, 511, 512, 513, 1025};

class AmpKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(AmpKernels);

/// Returns x * factor in the compute type, rounded to the dtype.
double unscaled(double x, float factor, DType dtype) {
  if (dtype == kDouble) return x * static_cast<double>(factor);
  const float product = static_cast<float>(x) * factor;
  if (dtype == kHalf) return static_cast<float>(Half(product));
  if (dtype == kBFloat16) return static_cast<float>(BFloat16(product));
  return static_cast<double>(product);
}

/// Returns n or more elements in these layouts: contiguous, transposed (dense), strided, spread, expanded.
std::vector<Tensor> layouts(int64_t n, DType dtype) {
  return {empty({n}, dtype), empty_strided({3, n}, {1, 3}, dtype), empty_strided({n}, {2}, dtype),
          empty_strided({2, n, 2}, {4 * n + 5, 2, 1}, dtype), empty_strided({4, n}, {0, 1}, dtype)};
}

TEST_P(AmpKernels, UnscaleMultipliesEveryElementOnce) {
  for (DType dtype : kFloating) {
    for (int64_t n : kSizes) {
      for (const Tensor& g : layouts(n, dtype)) {
        for (float factor : {1.0f / 1024, 0.3f, 1.0f, 3.0f}) {
          write(g, random_values(g.numel(), 5));
          std::vector<double> expected = read(g);
          for (double& x : expected) x = unscaled(x, factor, dtype);
          const Tensor found = scalar_of(0);
          under_test().unscale({g}, scalar_of(factor), found);
          ASSERT_EQ(read(g), expected) << name(dtype) << to_string(g.sizes()) << to_string(g.strides());
          ASSERT_EQ(read(found)[0], 0);
        }
      }
    }
  }
}

TEST_P(AmpKernels, FindsOneBadElementAnywhere) {
  for (DType dtype : kFloating) {
    for (int64_t n : kSizes) {
      for (const Tensor& g : layouts(n, dtype)) {
        for (double bad : {kInf, -kInf, kNaN}) {
          for (int64_t at : {int64_t{0}, g.numel() / 2, g.numel() - 1}) {
            for (float factor : {0.5f, 1.0f, 0.0f}) {
              write(g, random_values(g.numel(), 6));
              set(g, at, bad);
              const auto before = bytes_of(g);
              const Tensor checked = scalar_of(0), found = scalar_of(0);
              under_test().check_finite({g}, scalar_of(factor), checked);
              ASSERT_EQ(bytes_of(g), before);
              ASSERT_EQ(read(checked)[0], 1) << name(dtype) << to_string(g.sizes()) << at << ' ' << factor;
              under_test().unscale({g}, scalar_of(factor), found);
              ASSERT_EQ(read(found)[0], 1);
              if (factor == 1) {
                ASSERT_EQ(bytes_of(g), before);
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(AmpKernels, FindsOverflowCausedByUnscaling) {
  struct Case {
    DType dtype;
    double last_finite, first_infinite;  // before a multiplication by 4
  };
  // Halfway between the largest finite number and 2^16 or 2^128, rounding goes to even, which is up. An f32 product is
  // rounded before it is stored.
  const Case cases[] = {{kHalf, 16376, 16380},  // 65504, 65520
                        {kBFloat16, 0x1.fep125, 0x1p126},
                        {kFloat, 0x1.fffffep125, 0x1p126},
                        {kDouble, 0x1.fffffffffffffp1021, 0x1p1022}};
  for (const Case& c : cases) {
    for (int64_t n : {1, 40}) {
      std::vector<double> values(static_cast<size_t>(n), -c.last_finite);
      const Tensor clean = tensor_of(values, c.dtype), found = scalar_of(0);
      under_test().check_finite({clean}, scalar_of(4), found);
      EXPECT_EQ(read(found)[0], 0) << name(c.dtype);
      under_test().unscale({clean}, scalar_of(4), found);
      EXPECT_EQ(read(found)[0], 0) << name(c.dtype);
      EXPECT_TRUE(std::isfinite(read(clean)[0]));

      values.back() = c.first_infinite;
      const Tensor bad = tensor_of(values, c.dtype);
      under_test().check_finite({bad}, scalar_of(4), found);
      EXPECT_EQ(read(found)[0], 1) << name(c.dtype);
      write(found, {0});
      under_test().unscale({bad}, scalar_of(4), found);
      EXPECT_EQ(read(found)[0], 1) << name(c.dtype);
      EXPECT_TRUE(std::isinf(read(bad).back()));
    }
  }
}

TEST_P(AmpKernels, ListsOfMixedTensors) {
  for (size_t count : {1u, 2u, 17u, 300u}) {
    std::vector<Tensor> list;
    for (size_t i = 0; i < count; ++i) {
      const auto n = static_cast<int64_t>(i * 37 % 1200);
      list.push_back(layouts(n, kFloating[i % 4])[i % 3]);
    }
    for (size_t bad = 0; bad <= count; bad += count / 8 + 1) {
      std::vector<std::vector<double>> expected;
      bool any = false;
      for (size_t i = 0; i < count; ++i) {
        write(list[i], random_values(list[i].numel(), static_cast<uint32_t>(i)));
        if (i == bad && list[i].numel() > 0) {
          std::vector<double> values = read(list[i]);
          values.back() = kInf;
          write(list[i], values);
          any = true;
        }
        expected.push_back(read(list[i]));
        for (double& x : expected.back()) x = unscaled(x, 0.25f, list[i].dtype());
      }
      const Tensor found = scalar_of(0);
      under_test().unscale(list, scalar_of(0.25), found);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(read(list[i]), expected[i]) << i;
      ASSERT_EQ(read(found)[0], any ? 1 : 0);
    }
  }
}

TEST_P(AmpKernels, FoundInfIsSticky) {
  const Tensor found = scalar_of(1), g = tensor_of({1, 2}, kFloat);
  under_test().unscale({g}, scalar_of(1), found);
  under_test().unscale({g}, scalar_of(0.5), found);
  under_test().check_finite({g}, Tensor(), found);
  under_test().unscale({}, scalar_of(0.5), found);
  EXPECT_EQ(read(found)[0], 1);
}

TEST_P(AmpKernels, LargeListOnSeveralThreads) {
  const int64_t n = 200003;
  const Tensor g = empty({n}), half = empty({n}, kHalf), found = scalar_of(0);
  write(g, random_values(n, 9));
  write(half, random_values(n, 10));
  std::vector<double> expected = read(g);
  for (double& x : expected) x = unscaled(x, 0.125f, kFloat);
  under_test().unscale({g, half}, scalar_of(0.125), found);
  EXPECT_EQ(read(g), expected);
  EXPECT_EQ(read(found)[0], 0);
  set(half, n - 1, 65504);
  under_test().check_finite({g, half}, scalar_of(1.5), found);
  EXPECT_EQ(read(found)[0], 1);
}

TEST(CopyScale, RoundsTheDoubleQuotient) {
  for (double scale : {65536.0, 3.0, 0.7, 1e-38, 3e38}) {
    const Tensor copy = scalar_of(0), inverse = scalar_of(0), s = scalar_of(scale);
    under_test().copy_scale(copy, inverse, s);
    EXPECT_EQ(read(copy)[0], read(s)[0]);
    EXPECT_EQ(read(inverse)[0], static_cast<float>(1.0 / read(s)[0]));
  }
}

}  // namespace
}  // namespace tandem
