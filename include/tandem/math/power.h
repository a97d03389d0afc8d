#pragma once
// pow. The float version is branch-free, and correctly rounded except for about one result in 10^4. The double version
// calls the C library. The int64 version squares repeatedly.
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// x^y. Special cases are as in C: pow(x, 0) = pow(1, y) = 1; a negative x to a non-integer power gives NaN.
TANDEM_MATH double pow(double x, double y) { return TANDEM_LIBM(pow)(x, y); }

#if defined(__CUDA_ARCH__)

TANDEM_MATH float pow(float x, float y) { return ::powf(x, y); }

#else

namespace detail {

/// log2 of a positive normal number, with a relative error of 2^-45. For 0, inf and NaN the result is finite and
/// meaningless.
TANDEM_MATH double log2_of(double x) {
  const uint64_t bits = bits_as<uint64_t>(x);
  // x = m 2^n with m in [sqrt(1/2), sqrt(2)). n is converted to double through the mantissa of 2^52, because there is
  // no vector conversion from int64 before AVX-512.
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const uint64_t biased = (bits - 0x3fe6a09e00000000u + kOne) >> 52;
  const double n = bits_as<double>(biased | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const double m = bits_as<double>(bits - (biased << 52) + kOne);
  const double s = (m - 1.0) / (m + 1.0);
  const double p = polynomial(s * s, 0x1.71547652b824fp+1, 0x1.ec709dc53fba5p-1, 0x1.2776c28f61ec8p-1,
                              0x1.a61a31e763bbdp-2, 0x1.4794d3b69506dp-2, 0x1.21b859103ff59p-2);
  return s * p + n;
}

/// 2^t, with a relative error of 2^-40, for t limited to [-160, 130]: beyond float's range.
TANDEM_MATH double exp2_wide(double t) {
  t = t > 130.0 ? 130.0 : t;
  t = t < -160.0 ? -160.0 : t;
  constexpr double kRound = 0x1.8p52;
  const double shifted = t + kRound;
  const double p = polynomial(t - (shifted - kRound), 0x1.ffffffffff7a3p-1, 0x1.62e42fef8615ep-1, 0x1.ebfbdff9319d7p-3,
                              0x1.c6b08dd46d454p-5, 0x1.3b2ab5c52a113p-7, 0x1.5d87483849fe7p-10, 0x1.430acca1d40bcp-13,
                              0x1.00dad256f627fp-16, 0x1.61afd020593ebp-20);
  return p * bits_as<double>((bits_as<uint64_t>(shifted) + 1023) << 52);
}
/// 2^t as a float; 0 and inf if it is out of float's range.
TANDEM_MATH float exp2_to_float(double t) { return static_cast<float>(exp2_wide(t)); }

}  // namespace detail

TANDEM_MATH float pow(float x, float y) {
  const float ax = abs(x), ay = abs(y);
  const double finite_log = detail::log2_of(static_cast<double>(ax));
  const double log2_ax = ax == 0.0f ? -kInf<double> : (ax < kInf<float> ? finite_log : static_cast<double>(ax));
  const float magnitude = detail::exp2_to_float(static_cast<double>(y) * log2_ax);
  // Conditions on x or y alone are stored as numbers, not bools: compilers hoist them out of loops over the other
  // operand, and GCC does not vectorise a loop that uses a bool from outside the loop.
  const float half = 0.5f * ay;
  const bool integer = floor(ay) == ay;
  const uint32_t odd_sign = (integer & (floor(half) != half)) ? 0x80000000u : 0u;
  const float nan_below = integer ? -kInf<float> : 0.0f;
  const float finite_x = x > -kInf<float> ? x : 0.0f;
  const float nan_if_x_or_y_is = (x != x ? kNaN<float> : -0.0f) + (y != y ? kNaN<float> : -0.0f);
  const float one_at_1 = ay == kInf<float> ? ax : x;  // pow(-1, +-inf) = 1
  const uint32_t one_mask = y == 0.0f ? 0xffffffffu : 0u;

  float result = bits_as<float>(bits_as<uint32_t>(magnitude) | (bits_as<uint32_t>(x) & odd_sign));
  result = (finite_x < nan_below ? kNaN<float> : result) + nan_if_x_or_y_is;
  result = one_at_1 == 1.0f ? 1.0f : result;
  return bits_as<float>((bits_as<uint32_t>(result) & ~one_mask) | (bits_as<uint32_t>(1.0f) & one_mask));
}

#endif

/// x^y for integers, modulo 2^64. For y < 0: 1 / x^-y rounded towards zero, or 0 if x is 0.
TANDEM_MATH int64_t pow(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0);
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(x);
  for (uint64_t e = static_cast<uint64_t>(y); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

}  // namespace tandem::math
#pragma GCC visibility pop
