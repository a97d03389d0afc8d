// Divisor against the division of the language.
#include "kernels/cuda/divisor.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tandem::cuda {
namespace {

void expect_quotients(uint32_t d) {
  const Divisor by(d);
  const auto limit = static_cast<uint32_t>(kDivisorLimit);
  // The quotient steps at multiples of d; the largest dividends have the largest rounding errors.
  const uint32_t last = limit / d * d;
  for (uint32_t n : {0u, 1u, d - 1, d, d < limit ? d + 1 : d, last - 1, last, limit - 1, limit}) {
    ASSERT_EQ(by.quotient(n), n / d) << n << " / " << d;
  }
  uint32_t n = d;
  for (int i = 0; i < 200; ++i) {
    n = (n * 1664525u + 1013904223u) & limit;
    const uint32_t multiple = n / d * d;
    ASSERT_EQ(by.quotient(n), n / d) << n << " / " << d;
    ASSERT_EQ(by.quotient(multiple), multiple / d) << multiple << " / " << d;
    const uint32_t before = multiple > 0 ? multiple - 1 : 0;
    ASSERT_EQ(by.quotient(before), before / d) << before << " / " << d;
  }
}

TEST(Divisor, SmallNumbers) {
  for (uint32_t d = 1; d <= 5000; ++d) expect_quotients(d);
}

TEST(Divisor, NumbersAroundPowersOfTwo) {
  for (uint32_t power = 4; power <= uint32_t{1} << 30; power *= 2) {
    for (uint32_t d : {power - 1, power, power + 1}) expect_quotients(d);
  }
  expect_quotients(static_cast<uint32_t>(kDivisorLimit));
}

TEST(Divisor, RandomNumbers) {
  uint32_t d = 1;
  for (int i = 0; i < 5000; ++i) {
    d = d * 22695477u + 1;
    expect_quotients((d >> 1 >> (i % 30)) | 1);
  }
}

}  // namespace
}  // namespace tandem::cuda
