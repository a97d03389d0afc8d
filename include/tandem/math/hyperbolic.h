#pragma once
// Hyperbolic functions, their inverses, and logarithms and powers of other bases, in the manner of approx.h. The float
// versions compute in double, with polynomials for float's precision, and round once.
#include "tandem/math/power.h"

#pragma GCC visibility push(default)
namespace tandem::math {

#define TANDEM_MATH_LIBRARY(NAME) \
  TANDEM_MATH double NAME(double x) { return TANDEM_LIBM(NAME)(x); }
TANDEM_MATH_LIBRARY(sinh)
TANDEM_MATH_LIBRARY(cosh)
TANDEM_MATH_LIBRARY(asinh)
TANDEM_MATH_LIBRARY(acosh)
TANDEM_MATH_LIBRARY(atanh)
TANDEM_MATH_LIBRARY(log2)
TANDEM_MATH_LIBRARY(log10)
TANDEM_MATH_LIBRARY(exp2)
#undef TANDEM_MATH_LIBRARY

#if defined(__CUDA_ARCH__)

#define TANDEM_MATH_LIBRARY(NAME) \
  TANDEM_MATH float NAME(float x) { return ::NAME##f(x); }
TANDEM_MATH_LIBRARY(sinh)
TANDEM_MATH_LIBRARY(cosh)
TANDEM_MATH_LIBRARY(asinh)
TANDEM_MATH_LIBRARY(acosh)
TANDEM_MATH_LIBRARY(atanh)
TANDEM_MATH_LIBRARY(log2)
TANDEM_MATH_LIBRARY(log10)
TANDEM_MATH_LIBRARY(exp2)
#undef TANDEM_MATH_LIBRARY

#else

namespace detail {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLog2EWide = 0x1.71547652b82fep+0;

/// log(x) for a positive normal number, with float's precision.
TANDEM_MATH double log_wide(double x) { return log2_of(x) * kLn2; }
/// e^x with float's precision; see exp2_wide.
TANDEM_MATH double exp_wide(double x) { return exp2_wide(x * kLog2EWide); }

/// scale log2(x), with C's special cases.
TANDEM_MATH float scaled_log2(float x, double scale) {
  const float y = static_cast<float>(log2_of(static_cast<double>(x)) * scale);
  const float finite = x < kInf<float> ? y : x;  // inf and NaN are returned unchanged
  return x > 0.0f ? finite : (x == 0.0f ? -kInf<float> : kNaN<float>);
}

}  // namespace detail

TANDEM_MATH float log2(float x) { return detail::scaled_log2(x, 1.0); }
TANDEM_MATH float log10(float x) { return detail::scaled_log2(x, 0x1.34413509f79ffp-2); }
TANDEM_MATH float exp2(float x) { return detail::exp2_to_float(static_cast<double>(x)); }

TANDEM_MATH float sinh(float x) {
  const double t = static_cast<double>(x), z = t * t;
  const double e = detail::exp_wide(t);
  const double large = 0.5 * (e - 1.0 / e);
  const double small = t * polynomial(z, 1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880);
  const float y = static_cast<float>(z < 0.25 ? small : large);
  return abs(x) < 0x1p-20f ? x : y;  // preserves -0
}
TANDEM_MATH float cosh(float x) {
  const double e = detail::exp_wide(static_cast<double>(abs(x)));
  return static_cast<float>(0.5 * (e + 1.0 / e));
}

TANDEM_MATH float asinh(float x) {
  const double t = static_cast<double>(abs(x));
  const float y = static_cast<float>(detail::log_wide(t + TANDEM_LIBM(sqrt)(t * t + 1.0)));
  const float finite = abs(x) < kInf<float> ? copysign(y, x) : x;
  return abs(x) < 0x1p-13f ? x : finite;
}
TANDEM_MATH float acosh(float x) {
  const double t = static_cast<double>(x);
  const float y = static_cast<float>(detail::log_wide(t + TANDEM_LIBM(sqrt)((t - 1.0) * (t + 1.0))));
  const float finite = x < kInf<float> ? y : x;
  return x >= 1.0f ? finite : kNaN<float>;
}
TANDEM_MATH float atanh(float x) {
  const double t = static_cast<double>(x);
  const float y = static_cast<float>(0.5 * detail::log_wide((1.0 + t) / (1.0 - t)));
  const float inside = abs(x) < 0x1p-13f ? x : y;
  const float outside = abs(x) == 1.0f ? copysign(kInf<float>, x) : kNaN<float>;
  return abs(x) < 1.0f ? inside : outside;
}

#endif

}  // namespace tandem::math
#pragma GCC visibility pop
