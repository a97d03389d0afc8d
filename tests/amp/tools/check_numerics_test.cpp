// check_numerics against counts made one element at a time from the bits.
#include "tandem/amp/tools/check_numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "support/compare.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using amp::check_numerics;
using amp::Numerics;

constexpr double kInf = std::numeric_limits<double>::infinity();

bool is_subnormal(DType dtype, double x) {
  switch (dtype) {
    case DType::F16:
      return (Half(static_cast<float>(x)).bits & 0x7c00) == 0 && x != 0;
    case DType::BF16:
      return (BFloat16(static_cast<float>(x)).bits & 0x7f80) == 0 && x != 0;
    case DType::F32:
      return std::fpclassify(static_cast<float>(x)) == FP_SUBNORMAL;
    default:
      return std::fpclassify(x) == FP_SUBNORMAL;
  }
}

/// Checks against counts of values_of(x) made with the conversions of base/half.h; f64 values here are exact in f32.
void expect_counts(const Tensor& x) {
  const Numerics n = check_numerics(x);
  Numerics want{};
  want.min = kInf, want.max = -kInf, want.amax = 0, want.mean = 0;
  double sum = 0;
  int64_t finite = 0;
  for (const double v : testing::values_of(x)) {
    ++want.count;
    want.nan += std::isnan(v);
    want.positive_inf += v == kInf;
    want.negative_inf += v == -kInf;
    if (!std::isfinite(v)) continue;
    ++finite;
    sum += v;
    want.min = std::min(want.min, v);
    want.max = std::max(want.max, v);
    want.amax = std::max(want.amax, std::abs(v));
    want.zeros += v == 0;
    want.subnormals += is_subnormal(x.dtype(), v);
    const uint16_t half = Half(static_cast<float>(v)).bits & 0x7fff;
    want.f16_overflows += half == 0x7c00;
    want.f16_underflows += half == 0 && v != 0;
    want.f16_subnormals += half > 0 && half < 0x0400;
    if (v != 0) {
      int exponent;
      std::frexp(v, &exponent);
      ++want.exponents[exponent - 1];
    }
  }
  EXPECT_EQ(n.sizes, x.impl().sizes);
  EXPECT_EQ(n.dtype, x.dtype());
  EXPECT_EQ(n.count, want.count);
  EXPECT_EQ(n.nan, want.nan);
  EXPECT_EQ(n.positive_inf, want.positive_inf);
  EXPECT_EQ(n.negative_inf, want.negative_inf);
  EXPECT_EQ(n.nonfinite(), want.nan + want.positive_inf + want.negative_inf);
  EXPECT_EQ(n.zeros, want.zeros);
  EXPECT_EQ(n.subnormals, want.subnormals);
  EXPECT_EQ(n.f16_overflows, want.f16_overflows);
  EXPECT_EQ(n.f16_underflows, want.f16_underflows);
  EXPECT_EQ(n.f16_subnormals, want.f16_subnormals);
  EXPECT_EQ(n.exponents, want.exponents);
  if (finite == 0) {
    EXPECT_TRUE(std::isnan(n.min) && std::isnan(n.max) && std::isnan(n.mean) && std::isnan(n.amax));
    return;
  }
  EXPECT_EQ(n.min, want.min);
  EXPECT_EQ(n.max, want.max);
  EXPECT_EQ(n.amax, want.amax);
  EXPECT_DOUBLE_EQ(n.mean, sum / static_cast<double>(finite));
}

/// A tensor with all 2^16 bit patterns of a 16-bit dtype.
template <class T>
Tensor all_patterns() {
  Tensor x = empty({65536}, TensorOptions(dtype_of<T>).device(kCPU));
  T* p = x.data_ptr<T>();
  for (uint32_t i = 0; i < 65536; ++i) p[i] = T::from_bits(static_cast<uint16_t>(i));
  return x.to(get_default_device());
}

TEST(CheckNumerics, EveryHalfAndEveryBFloat16) {
  expect_counts(all_patterns<Half>());
  expect_counts(all_patterns<BFloat16>());
  // All 1023 patterns with exponent 0, for either sign.
  EXPECT_EQ(check_numerics(all_patterns<Half>()).subnormals, 2 * 1023);
  EXPECT_EQ(check_numerics(all_patterns<Half>()).nan, 2 * 1023);
  EXPECT_EQ(check_numerics(all_patterns<BFloat16>()).nan, 2 * 127);
}

TEST(CheckNumerics, LimitsOfF16) {
  for (const double border : {65504.0, 65520.0, 65536.0, 0x1p-24, 0x1p-25, 0x1p-26, 0x1p-14, 0x1p-14 - 0x1p-25}) {
    std::vector<float> values;
    for (const float sign : {1.0f, -1.0f}) {
      const auto b = static_cast<float>(border);
      for (const float v : {b, std::nextafter(b, 0.0f), std::nextafter(b, 1e30f)}) values.push_back(sign * v);
    }
    expect_counts(tensor(values));
    expect_counts(tensor(values).to(kDouble));
  }
}

TEST(CheckNumerics, NumbersOfF32AndF64) {
  manual_seed(1);
  const Tensor x = randn({4096}) * exp(randn({4096}) * 20);
  expect_counts(x);
  expect_counts(x.to(kDouble));
  const float f32[] = {FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, FLT_MAX, 0.0f, -0.0f, NAN, -NAN, INFINITY, -INFINITY};
  expect_counts(tensor(std::vector<float>(std::begin(f32), std::end(f32))));
  const double f64[] = {5e-324, -1e-310, DBL_MIN, 1e300};
  const Tensor y = tensor(std::vector<double>(std::begin(f64), std::end(f64)), kDouble);
  const Numerics wide = check_numerics(y);
  EXPECT_EQ(wide.subnormals, 2);
  EXPECT_EQ(wide.f16_overflows, 1);
  EXPECT_EQ(wide.f16_underflows, 3);
  EXPECT_EQ(wide.exponents.begin()->first, -1074);
}

TEST(CheckNumerics, EveryLayout) {
  manual_seed(2);
  const Tensor x = randn({4, 6, 8});
  for (const Tensor& view :
       {x.transpose(0, 2), x.select(1, 3), x.slice(2, 1, 8, 3), x.select(0, 0).unsqueeze(0).expand({3, 6, 8}),
        x.permute({1, 2, 0}).to(kHalf), empty({0, 3}), full({}, 2.5)}) {
    expect_counts(view);
  }
}

TEST(CheckNumerics, DoesNotChangeTheTensor) {
  const Tensor x = ones({3}).requires_grad_();
  const uint64_t version = x._version();
  static_cast<void>(check_numerics(x));
  static_cast<void>(check_numerics(x * 2));
  EXPECT_EQ(x._version(), version);
}

TEST(CheckNumerics, PrintsABarForEachExponent) {
  const std::string text = check_numerics(tensor(std::vector<float>{1, 1.5, 2, 1e6, 0, NAN})).table();
  for (const char* line : {"[6] f32", "NaN", "would overflow in f16", "16.7 %", "max 1e+06", "2^0", "2^1", "2^19"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  }
  EXPECT_THAT(check_numerics(empty({0})).table(), ::testing::HasSubstr("[0] f32"));
  // The range from the smallest to the largest f32 fits in a few bars.
  const std::string wide = check_numerics(tensor(std::vector<float>{FLT_TRUE_MIN, FLT_MAX})).table();
  EXPECT_LT(std::count(wide.begin(), wide.end(), '\n'), 40);
}

}  // namespace
}  // namespace tandem
