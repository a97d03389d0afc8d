#pragma once
// Elementary functions as branch-free formulas that compilers can vectorise: exp, expm1, log, log1p, tanh, sigmoid,
// erf. The float versions use minimax polynomials with an error of at most 3 ulp (tests/math/approx_test.cpp). They
// treat infinities, NaN, overflow and subnormal numbers like C's math library. The double versions call the C library.
// Device code calls the device's library.
//
// The float formulas depend on IEEE rounding to nearest: do not compile them with -ffast-math. Contraction of a product
// and a sum into an fma is allowed.
#include <cstdint>

#include "tandem/math/arithmetic.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class T>
TANDEM_MATH T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
TANDEM_MATH T polynomial(T x, T c0, Rest... rest) {
  return polynomial(x, rest...) * x + c0;
}

/// The C library's function. The overloads of <cmath> are avoided because they may be compiled out of line.
#if defined(__CUDA_ARCH__)
#define TANDEM_LIBM(NAME) ::NAME
#else
#define TANDEM_LIBM(NAME) __builtin_##NAME
#endif

#define TANDEM_MATH_LIBRARY(NAME) \
  TANDEM_MATH double NAME(double x) { return TANDEM_LIBM(NAME)(x); }
TANDEM_MATH_LIBRARY(exp)
TANDEM_MATH_LIBRARY(expm1)
TANDEM_MATH_LIBRARY(log)
TANDEM_MATH_LIBRARY(log1p)
TANDEM_MATH_LIBRARY(tanh)
TANDEM_MATH_LIBRARY(erf)
#undef TANDEM_MATH_LIBRARY

#if defined(__CUDA_ARCH__)

#define TANDEM_MATH_LIBRARY(NAME) \
  TANDEM_MATH float NAME(float x) { return ::NAME##f(x); }
TANDEM_MATH_LIBRARY(exp)
TANDEM_MATH_LIBRARY(expm1)
TANDEM_MATH_LIBRARY(log)
TANDEM_MATH_LIBRARY(log1p)
TANDEM_MATH_LIBRARY(tanh)
TANDEM_MATH_LIBRARY(erf)
#undef TANDEM_MATH_LIBRARY

#else

namespace detail {

inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 in two parts. The first has 9 bits, so its product with an exponent is exact.
inline constexpr float kLn2Hi = 0x1.63p-1f, kLn2Lo = -0x1.bd0106p-13f;

/// n and e^r - 1, where x = n ln 2 + r with |r| <= ln(2) / 2.
struct ExpParts {
  int32_t n;
  float expm1_r;
};

/// Requires |x| <= 200 or NaN; NaN gives NaN.
TANDEM_MATH ExpParts exp_parts(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer, which is then in the lowest bits
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2Hi) - n * kLn2Lo;
  const float p = polynomial(r, 0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6ap-7f, 0x1.6a234ap-10f);
  return {bits_as<int32_t>(shifted) - bits_as<int32_t>(kRound), r * r * p + r};
}

/// 2^n for -126 <= n <= 127.
TANDEM_MATH float exp2_int(int32_t n) { return bits_as<float>(static_cast<uint32_t>(n + 127) << 23); }

}  // namespace detail

/// e^x.
TANDEM_MATH float exp(float x) {
  // Beyond these bounds the result is inf or 0. Within them, both halves of the exponent are in range.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const detail::ExpParts e = detail::exp_parts(x);
  const int32_t half = e.n >> 1;
  return (e.expm1_r + 1.0f) * detail::exp2_int(half) * detail::exp2_int(e.n - half);
}

/// e^x for x <= 88, with 0 for results below 1.7e-38: cheaper than exp.
TANDEM_MATH float exp_of_weight(float x) {
  const detail::ExpParts e = detail::exp_parts(x < -87.0f ? -87.0f : x);
  const float y = (e.expm1_r + 1.0f) * detail::exp2_int(e.n);
  return x < -87.0f ? 0.0f : y;
}

/// e^x - 1.
TANDEM_MATH float expm1(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -20.0f ? -20.0f : c;
  const detail::ExpParts e = detail::exp_parts(c);
  const float t = detail::exp2_int(e.n - 1);  // half of 2^n, because 2^n may overflow
  const float y = 2.0f * (t * e.expm1_r + (t - 0.5f));
  return abs(x) < 0x1p-25f ? x : y;  // preserves -0 and subnormal numbers
}

/// Natural logarithm; log(0) = -inf, NaN below 0.
TANDEM_MATH float log(float x) {
  const bool subnormal = x < 0x1p-126f;
  const uint32_t bits = bits_as<uint32_t>(subnormal ? x * 0x1p23f : x);
  // x = m 2^n with m in [sqrt(1/2), sqrt(2))
  const int32_t n = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float f = bits_as<float>(bits - (static_cast<uint32_t>(n) << 23)) - 1.0f;
  const float nf = static_cast<float>(n) - (subnormal ? 23.0f : 0.0f);
  const float z = f * f;
  const float q = polynomial(f, 0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a4b6p-3f, -0x1.555c4ep-3f, 0x1.233768p-3f,
                             -0x1.fc2208p-4f, 0x1.e6f06ap-4f, -0x1.de3c12p-4f, 0x1.1457a4p-4f);
  const float tail = (f * z * q + nf * detail::kLn2Lo) - 0.5f * z;
  const float y = (f + tail) + nf * detail::kLn2Hi;
  const float finite = x < kInf<float> ? y : x;  // inf and NaN are returned unchanged
  return x > 0.0f ? finite : (x == 0.0f ? -kInf<float> : kNaN<float>);
}

/// log(1 + x).
TANDEM_MATH float log1p(float x) {
  const float u = 1.0f + x;
  // Corrects for the rounding error `lost` of u, to first order: log(1 + x) = log(u) + log1p(lost / u).
  const float lost = abs(x) < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
  const float y = log(u) + lost / u;
  const bool as_log = !(u > 0.0f) | !(u < kInf<float>);
  return abs(x) < 0x1p-25f ? x : (as_log ? log(u) : y);
}

/// Hyperbolic tangent.
TANDEM_MATH float tanh(float x) {
  const float magnitude = abs(x);
  const float z = x * x;
  const float small = polynomial(z, -0x1.555534p-2f, 0x1.11076p-3f, -0x1.b8431cp-5f, 0x1.524ebcp-6f, -0x1.76861ep-8f);
  const float large = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  return copysign(magnitude < 0.625f ? x * z * small + x : large, x);
}

/// Error function.
TANDEM_MATH float erf(float x) {
  const float t = abs(x);
  const float z = x * x;
  const float small =
      polynomial(z, 0x1.06eba6p-3f, -0x1.8126e6p-2f, 0x1.ce1a44p-4f, -0x1.b686ccp-6f, 0x1.4715f8p-8f, -0x1.395946p-11f);
  // log(1 - erf t). For t >= 4, erf t rounds to 1.
  const float c = t > 4.0f ? 4.0f : t;
  const float log_erfc = c * polynomial(c, -0x1.20ef1cp+0f, -0x1.45328ep-1f, -0x1.b32570p-4f, 0x1.855150p-6f,
                                        -0x1.dd6ca4p-9f, 0x1.527bfep-12f, -0x1.78dc26p-17f);
  const float large = 1.0f - exp(log_erfc);
  return t < 0.92578125f ? x * small + x : copysign(large, x);
}

/// Standard normal distribution function with an error of at most 2e-7, without exp or division.
TANDEM_MATH float normal_cdf(float x) {
  constexpr float kEnd = 5.5625f;  // 1 - normal_cdf(kEnd) rounds to 0
  const float s = x > kEnd ? kEnd : x;
  // u in [-1, 1]. The polynomial is minimax for (Phi(x) - 1/2) / x.
  const float u = s * s * 0x1.08c22cp-4f - 1.0f;
  const float y = s * polynomial(u, 0x1.045214p-3f, -0x1.03f6dcp-4f, 0x1.832dfap-5f, -0x1.3b76eep-5f, 0x1.065b28p-5f,
                                 -0x1.af03f6p-6f, 0x1.527a8p-6f, -0x1.ed3452p-7f, 0x1.6677b6p-7f, -0x1.122214p-7f,
                                 0x1.32dabep-8f, -0x1.36cbb2p-10f, 0x1.17ecaep-10f, -0x1.ae0ed8p-10f, 0x1.5df0a2p-11f);
  return x < -kEnd ? 0.0f : y + 0.5f;
}

#endif

// Where such functions are not cheaper.
TANDEM_MATH double exp_of_weight(double x) { return exp(x); }
TANDEM_MATH double normal_cdf(double x) { return 0.5 * (1 + erf(x * 0.70710678118654752440)); }
#if defined(__CUDA_ARCH__)
TANDEM_MATH float exp_of_weight(float x) { return exp(x); }
TANDEM_MATH float normal_cdf(float x) { return 0.5f * (1 + erf(x * 0.70710678f)); }
#endif

/// 1 / (1 + e^-x), without overflow, and with a small relative error also for large negative x.
template <class T>
TANDEM_MATH T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

/// log(1 + e^-|x|): the common term of softplus, log-sigmoid and binary cross entropy with logits.
template <class T>
TANDEM_MATH T log1p_exp_neg_abs(T x) {
  return log1p(exp(-abs(x)));
}

TANDEM_MATH float sqrt(float x) { return TANDEM_LIBM(sqrtf)(x); }
TANDEM_MATH double sqrt(double x) { return TANDEM_LIBM(sqrt)(x); }
TANDEM_MATH float floor(float x) { return TANDEM_LIBM(floorf)(x); }
TANDEM_MATH double floor(double x) { return TANDEM_LIBM(floor)(x); }
TANDEM_MATH float ceil(float x) { return TANDEM_LIBM(ceilf)(x); }
TANDEM_MATH double ceil(double x) { return TANDEM_LIBM(ceil)(x); }
/// Rounds to the nearest integer, ties to even.
TANDEM_MATH float round(float x) { return TANDEM_LIBM(rintf)(x); }
TANDEM_MATH double round(double x) { return TANDEM_LIBM(rint)(x); }
/// Rounds towards 0.
TANDEM_MATH float trunc(float x) { return TANDEM_LIBM(truncf)(x); }
TANDEM_MATH double trunc(double x) { return TANDEM_LIBM(trunc)(x); }
TANDEM_MATH int64_t trunc(int64_t x) { return x; }
TANDEM_MATH int64_t floor(int64_t x) { return x; }
TANDEM_MATH int64_t ceil(int64_t x) { return x; }
TANDEM_MATH int64_t round(int64_t x) { return x; }

}  // namespace tandem::math
#pragma GCC visibility pop
