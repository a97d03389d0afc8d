// The float formulas of math/approx.h, trig.h and power.h against the C library in double.
#include <gtest/gtest.h>

#include <cmath>

#include "support/ulp.h"
#include "tandem/math/power.h"
#include "tandem/math/special.h"
#include "tandem/math/trig.h"

namespace tandem {
namespace {

using testing::sample_floats;
using testing::ulp_error;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Checks |f(x) - want(x)| <= bound ulp for every 4999th float x with |x| <= largest.
template <class F, class W>
void expect_ulp(double bound, F f, W want, float largest = kInf) {
  double worst = 0;
  float at = 0;
  for (float x : sample_floats(4999)) {
    if (std::abs(x) > largest) continue;
    const double error = ulp_error(f(x), want(static_cast<double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  EXPECT_LE(worst, bound) << "at " << at << ": " << f(at) << ", expected " << want(static_cast<double>(at));
}

#define FLOAT(F) [](float x) { return math::F(x); }
#define DOUBLE(F) [](double x) { return std::F(x); }

TEST(Approx, Exp) { expect_ulp(1.1, FLOAT(exp), DOUBLE(exp)); }
TEST(Approx, ExpOfWeight) {
  for (float x = -100.0f; x <= 88.0f; x += 0.001f) {
    const double want = std::exp(static_cast<double>(x));
    EXPECT_NEAR(math::exp_of_weight(x), want, 2e-7 * want + 1.7e-38) << x;
  }
  EXPECT_EQ(math::exp_of_weight(-kInf), 0.0f);
  EXPECT_EQ(math::exp_of_weight(0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(math::exp_of_weight(kNaN)));
}
TEST(Approx, NormalCdf) {
  for (float x = -8.0f; x <= 8.0f; x += 0.0001f) {
    EXPECT_NEAR(math::normal_cdf(x), math::normal_cdf(static_cast<double>(x)), 2e-7) << x;
  }
  EXPECT_EQ(math::normal_cdf(-6.0f), 0.0f);
  EXPECT_EQ(math::normal_cdf(-kInf), 0.0f);
  EXPECT_EQ(math::normal_cdf(0.0f), 0.5f);
  EXPECT_NEAR(math::normal_cdf(kInf), 1.0f, 6e-8);
  EXPECT_TRUE(std::isnan(math::normal_cdf(kNaN)));
}
TEST(Approx, Expm1) { expect_ulp(1.6, FLOAT(expm1), DOUBLE(expm1)); }
TEST(Approx, Log) { expect_ulp(1.0, FLOAT(log), DOUBLE(log)); }
TEST(Approx, Log1p) { expect_ulp(1.6, FLOAT(log1p), DOUBLE(log1p)); }
TEST(Approx, Tanh) { expect_ulp(1.5, FLOAT(tanh), DOUBLE(tanh)); }
TEST(Approx, Erf) { expect_ulp(1.3, FLOAT(erf), DOUBLE(erf)); }
TEST(Approx, Sin) { expect_ulp(1.6, FLOAT(sin), DOUBLE(sin), math::kMaxTrigArgument); }
TEST(Approx, Cos) { expect_ulp(1.6, FLOAT(cos), DOUBLE(cos), math::kMaxTrigArgument); }
TEST(Approx, Tan) { expect_ulp(0.6, FLOAT(tan), DOUBLE(tan), math::kMaxTrigArgument); }
TEST(Approx, Asin) { expect_ulp(2.1, FLOAT(asin), DOUBLE(asin)); }
TEST(Approx, Acos) { expect_ulp(2.1, FLOAT(acos), DOUBLE(acos)); }
TEST(Approx, Atan) { expect_ulp(1.7, FLOAT(atan), DOUBLE(atan)); }
TEST(Approx, Sinh) { expect_ulp(0.6, FLOAT(sinh), DOUBLE(sinh)); }
TEST(Approx, Cosh) { expect_ulp(0.6, FLOAT(cosh), DOUBLE(cosh)); }
TEST(Approx, Asinh) { expect_ulp(0.6, FLOAT(asinh), DOUBLE(asinh)); }
TEST(Approx, Acosh) { expect_ulp(0.6, FLOAT(acosh), DOUBLE(acosh)); }
TEST(Approx, Atanh) { expect_ulp(0.6, FLOAT(atanh), DOUBLE(atanh)); }
TEST(Approx, Log2) { expect_ulp(0.6, FLOAT(log2), DOUBLE(log2)); }
TEST(Approx, Log10) { expect_ulp(0.6, FLOAT(log10), DOUBLE(log10)); }
TEST(Approx, Exp2) { expect_ulp(0.6, FLOAT(exp2), DOUBLE(exp2)); }
TEST(Approx, Erfc) { expect_ulp(0.6, FLOAT(erfc), DOUBLE(erfc)); }
// The double versions are the reference here; the next test checks erfinv's.
TEST(Approx, Erfinv) {
  expect_ulp(1.3, FLOAT(erfinv), [](double x) { return math::erfinv(x); });
}
TEST(Approx, Trigamma) {
  expect_ulp(
      0.6, FLOAT(trigamma), [](double x) { return math::trigamma(x); }, 1e6f);
}
TEST(Approx, Sinc) {
  expect_ulp(
      3.0, FLOAT(sinc), [](double x) { return math::sinc(x); }, 1e6f);
}

TEST(Approx, ErfinvInvertsErf) {
  auto expect_inverse = [](double y) {
    const double x = math::erfinv(y), slope = M_2_SQRTPI * std::exp(-x * x);
    const double error = y > 0.5 ? (1 - y) - std::erfc(x) : std::erf(x) - y;
    EXPECT_LE(std::abs(error / slope), 4e-16 * x) << y;
  };
  for (int i = 1; i < 1000; ++i) expect_inverse(i / 1000.0);
  for (int k = 10; k < 53; ++k) expect_inverse(1 - std::ldexp(1, -k));
}

TEST(Approx, DigammaFollowsItsRecurrence) {
  // psi(x + 1) = psi(x) + 1 / x
  for (double x : {-7.25, -0.5, 0.125, 1.5, 4.0, 9.5, 20.0, 1e5}) {
    EXPECT_NEAR(math::digamma(x + 1), math::digamma(x) + 1 / x, 1e-14 * std::abs(math::digamma(x)) + 1e-14) << x;
    const float f = static_cast<float>(x);
    EXPECT_NEAR(math::digamma(f), math::digamma(x), 1e-6 * std::abs(math::digamma(x))) << x;
  }
  EXPECT_TRUE(std::isnan(math::digamma(-2.0f)));
  EXPECT_EQ(math::digamma(0.0f), -kInf);
  EXPECT_EQ(math::digamma(-0.0f), kInf);
}

TEST(Approx, Sigmoid) {
  expect_ulp(2.5, FLOAT(sigmoid),
             [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); });
}

TEST(Approx, ExactValues) {
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(-kInf), 0.0f);
  EXPECT_EQ(math::exp(kInf), kInf);
  EXPECT_EQ(math::exp(89.0f), kInf);
  EXPECT_EQ(math::exp(-104.0f), 0.0f);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::log(0.0f), -kInf);
  EXPECT_EQ(math::log(-0.0f), -kInf);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_EQ(math::log1p(-1.0f), -kInf);
  EXPECT_TRUE(std::isnan(math::log1p(-1.5f)));
  EXPECT_TRUE(std::signbit(math::log1p(-0.0f)) && std::signbit(math::expm1(-0.0f)) && std::signbit(math::tanh(-0.0f)) &&
              std::signbit(math::sin(-0.0f)) && std::signbit(math::erf(-0.0f)));
  EXPECT_EQ(math::expm1(-kInf), -1.0f);
  EXPECT_EQ(math::tanh(10.0f), 1.0f);
  EXPECT_EQ(math::tanh(-kInf), -1.0f);
  EXPECT_EQ(math::erf(kInf), 1.0f);
  EXPECT_EQ(math::erf(-4.0f), -1.0f);
  EXPECT_EQ(math::sigmoid(kInf), 1.0f);
  EXPECT_EQ(math::sigmoid(-kInf), 0.0f);
  for (float v : {math::exp(kNaN), math::log(kNaN), math::expm1(kNaN), math::log1p(kNaN), math::tanh(kNaN),
                  math::erf(kNaN), math::sin(kNaN), math::cos(kInf), math::sigmoid(kNaN)}) {
    EXPECT_TRUE(std::isnan(v));
  }
}

const std::vector<float>& pow_operands() {
  static const std::vector<float> values = [] {
    std::vector<float> v = {0.0f,      1.0f,      2.0f,       3.0f,       0.5f,        0.25f,      1.5f,
                            2.5f,      10.0f,     1.0000001f, 7.0f,       100.5f,      1e-20f,     1e20f,
                            0x1p-149f, 0x1p-126f, 8388608.0f, 8388609.0f, 16777216.0f, 4194304.5f, 0.3333333f,
                            127.0f,    128.0f,    149.0f,     1.4142135f, kInf};
    const size_t n = v.size();
    for (size_t i = 0; i < n; ++i) v.push_back(-v[i]);
    v.push_back(kNaN);
    return v;
  }();
  return values;
}

TEST(Approx, Pow) {
  for (float x : pow_operands()) {
    for (float y : pow_operands()) {
      const double want = std::pow(static_cast<double>(x), static_cast<double>(y));
      const float got = math::pow(x, y);
      EXPECT_LE(ulp_error(got, want), 0.51) << x << " ^ " << y << " = " << got << ", expected " << want;
      if (!std::isnan(want)) {
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << " ^ " << y;
      }
    }
  }
}

TEST(Approx, PowOfIntegers) {
  EXPECT_EQ(math::pow(int64_t{3}, int64_t{4}), 81);
  EXPECT_EQ(math::pow(int64_t{-2}, int64_t{63}), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(math::pow(int64_t{0}, int64_t{0}), 1);
  EXPECT_EQ(math::pow(int64_t{2}, int64_t{-1}), 0);
  EXPECT_EQ(math::pow(int64_t{-1}, int64_t{-3}), -1);
}

TEST(Approx, Atan2) {
  for (float y : pow_operands()) {
    for (float x : pow_operands()) {
      const double want = std::atan2(static_cast<double>(y), static_cast<double>(x));
      const float got = math::atan2(y, x);
      EXPECT_LE(ulp_error(got, want), 3.0) << "atan2(" << y << ", " << x << ") = " << got << ", expected " << want;
    }
  }
}

TEST(Approx, SincosOfTurns) {
  for (int i = 0; i <= 4096; ++i) {
    const float turns = static_cast<float>(i) / 4096.0f;
    float s, c;
    math::sincos_turns(turns, s, c);
    EXPECT_NEAR(s, std::sin(2 * M_PI * turns), 2e-7) << turns;
    EXPECT_NEAR(c, std::cos(2 * M_PI * turns), 2e-7) << turns;
  }
}

}  // namespace
}  // namespace tandem
