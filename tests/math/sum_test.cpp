// Sums in twice the precision of f32: against sums in long double, in several orders; infinities and NaN.
#include "tandem/math/sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tandem {
namespace {

using Sum = math::Sum<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kUnit = 0x1p-24;

/// The terms, added to `parts` sums in turn, and these merged as a tree.
Sum sum_of(const std::vector<float>& terms, size_t parts = 1) {
  std::vector<Sum> sums(parts, Sum{});
  for (size_t i = 0; i < terms.size(); ++i) sums[i % parts] += terms[i];
  for (size_t step = 1; step < parts; step *= 2) {
    for (size_t i = 0; i + step < parts; i += 2 * step) sums[i] += sums[i + step];
  }
  return sums[0];
}

void expect_accurate(const std::vector<float>& terms) {
  long double exact = 0, magnitude = 0;
  for (const float x : terms) {
    exact += x;
    magnitude += std::abs(x);
  }
  const double chain = static_cast<double>(terms.size()) * kUnit;
  for (const size_t parts : {1u, 2u, 32u}) {
    const Sum sum = sum_of(terms, parts);
    const double bound = static_cast<double>(chain * chain * magnitude);
    EXPECT_NEAR(static_cast<double>(sum.value()), static_cast<double>(exact),
                kUnit * std::abs(static_cast<double>(exact)) + bound);
    EXPECT_NEAR(sum.wide(), static_cast<double>(exact), bound);
  }
}

std::vector<float> random_terms(size_t n, float largest_exponent) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<float> mantissa(-1, 1), exponent(0, largest_exponent);
  std::vector<float> terms(n);
  for (float& x : terms) x = std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
  return terms;
}

TEST(Sum, IsAsAccurateAsTwiceThePrecision) {
  for (const size_t n : {1u, 2u, 10u, 1000u, 4096u}) {
    for (const float exponent : {0.0f, 10.0f, 20.0f}) expect_accurate(random_terms(n, exponent));
  }
}

TEST(Sum, KeepsTermsThatCancellationReveals) {
  std::vector<float> terms = random_terms(1000, 0);
  for (float& x : terms) x = std::abs(x) * 0x1p-22f;
  const float small = sum_of(terms).value();
  std::vector<float> hidden{1};
  hidden.insert(hidden.end(), terms.begin(), terms.end());
  hidden.push_back(-1);
  EXPECT_NEAR(sum_of(hidden).value(), small, 2 * kUnit * small);
  std::reverse(hidden.begin(), hidden.end());
  EXPECT_NEAR(sum_of(hidden).value(), small, 2 * kUnit * small);
}

TEST(Sum, DependsLittleOnTheOrder) {
  std::vector<float> terms = random_terms(2000, 8);
  const float sorted_up = (std::sort(terms.begin(), terms.end()), sum_of(terms).value());
  const float sorted_down = (std::reverse(terms.begin(), terms.end()), sum_of(terms).value());
  EXPECT_NEAR(sorted_up, sorted_down, std::abs(sorted_up) * 2 * kUnit);
}

TEST(Sum, MergesInEitherOrderToTheSameBits) {
  const std::vector<float> terms = random_terms(64, 20);
  for (size_t i = 0; i + 3 < terms.size(); i += 4) {
    const Sum a = sum_of({terms[i], terms[i + 1]}), b = sum_of({terms[i + 2], terms[i + 3]});
    const Sum ab = a + b, ba = b + a;
    EXPECT_EQ(std::bit_cast<uint32_t>(ab.hi), std::bit_cast<uint32_t>(ba.hi));
    EXPECT_EQ(std::bit_cast<uint32_t>(ab.lo), std::bit_cast<uint32_t>(ba.lo));
  }
}

TEST(Sum, OfEqualTermsDividesToTheTerm) {
  for (const float x : {0.1f, 1.0f / 3, 1e-30f, 65504.0f, 1e30f, -7.7f}) {
    for (const size_t n : {1u, 3u, 7u, 768u, 1000u, 4095u}) {
      const Sum inverse = Sum::of(1 / static_cast<double>(n));
      EXPECT_EQ(sum_of(std::vector<float>(n, x)).times(inverse), x) << n;
      EXPECT_EQ(sum_of(std::vector<float>(n, x), 32).times(inverse), x) << n;
    }
  }
}

TEST(Sum, TreatsInfinitiesAndNaNLikeAPlainSum) {
  const Sum third = Sum::of(1.0 / 3);
  const auto expect = [&](std::vector<float> terms, float expected) {
    for (const size_t parts : {1u, 2u, 4u}) {
      const Sum sum = sum_of(terms, parts);
      for (const float result : {sum.value(), static_cast<float>(sum.wide()), sum.times(third)}) {
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(result)) << result;
        } else {
          EXPECT_EQ(result, expected);
        }
      }
    }
  };
  const float largest = std::numeric_limits<float>::max(), nan = std::numeric_limits<float>::quiet_NaN();
  expect({kInfinity}, kInfinity);
  expect({1, kInfinity, 2, 3}, kInfinity);
  expect({1, -kInfinity, 2, -kInfinity}, -kInfinity);
  expect({kInfinity, 1, -kInfinity}, nan);
  expect({1, nan, 2}, nan);
  expect({nan, kInfinity}, nan);
  expect({largest, largest, largest, largest}, kInfinity);
  expect({-largest, -largest, -largest, -largest, 1}, -kInfinity);
}

TEST(Sum, OfF64IsAPlainSum) {
  math::Sum<double> sum{};
  sum += 0.1;
  sum += math::Sum<double>::of(0.2);
  EXPECT_EQ(sum.value(), 0.1 + 0.2);
  EXPECT_EQ(sum.wide(), 0.1 + 0.2);
  EXPECT_EQ(sum.times(math::Sum<double>::of(0.5)), (0.1 + 0.2) * 0.5);
}

}  // namespace
}  // namespace tandem
