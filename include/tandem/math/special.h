#pragma once
// Special functions: erfc, erfinv, lgamma, digamma, trigamma, sinc and logit. The float versions of erfc, erfinv and
// digamma compute in double, with polynomials for float's precision, and round once.
#include <math.h>

#include "tandem/math/hyperbolic.h"
#include "tandem/math/trig.h"

#pragma GCC visibility push(default)
namespace tandem::math {

TANDEM_MATH double erfc(double x) { return TANDEM_LIBM(erfc)(x); }

/// log|Gamma(x)|; inf at 0 and the negative integers.
#if defined(__CUDA_ARCH__)
TANDEM_MATH double lgamma(double x) { return ::lgamma(x); }
TANDEM_MATH float lgamma(float x) { return ::lgammaf(x); }
#else
// lgamma() would write to a global variable, which is a race between threads.
TANDEM_MATH double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
TANDEM_MATH float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}
#endif

#if defined(__CUDA_ARCH__)

TANDEM_MATH float erfc(float x) { return ::erfcf(x); }
TANDEM_MATH float erfinv(float x) { return ::erfinvf(x); }
TANDEM_MATH double erfinv(double x) { return ::erfinv(x); }

#else

/// 1 - erf(x), with a small relative error also where it is small.
TANDEM_MATH float erfc(float x) {
  double t = static_cast<double>(abs(x));
  t = t > 11.0 ? 11.0 : t;
  // e^(x^2) erfc(x) (1 + 2 x) as a polynomial of a number between -1 and 0.7
  const double u = (t - 2.0) / (t + 2.0);
  const double p = polynomial(u, 0x1.46e80e23c0c33p+0, -0x1.7bf5ec97e3edep-4, -0x1.5407c3d64cc2ep-3,
                              0x1.4ffa275a171b6p-3, -0x1.bc29e45170fe2p-5, -0x1.074694a1bef70p-7, 0x1.1d9c9c79cf7a1p-7,
                              0x1.4d3bc6c7d879cp-10, -0x1.77a47f37ed557p-10, -0x1.cfc024539b009p-12,
                              0x1.5e2cd69ed4a0bp-13, 0x1.dc61b78c7a53cp-14, 0x1.156771366c1ecp-16);
  const double tail = detail::exp_wide(-t * t) * p / (1.0 + 2.0 * t);
  const float y = static_cast<float>(signbit(x) ? 2.0 - tail : tail);
  return x != x ? x : y;
}

namespace detail {

/// The inverse of erf for |x| < 1 with float's precision, given w = -log(1 - x^2).
TANDEM_MATH double erfinv_wide(double x, double w) {
  const double s = TANDEM_LIBM(sqrt)(w);
  const double inner =
      polynomial(w, 0x1.c5bf8944bb277p-1, 0x1.db29daaa8677bp-3, 0x1.7a837df35b8dep-7, -0x1.32e1bd3205e15p-9,
                 -0x1.ef4acbd3bb10ep-14, 0x1.397bad5485242p-15, 0x1.ebafe132da2aap-18, -0x1.89e83d9c20cf8p-19,
                 0x1.9f0741aed165ap-22, -0x1.a6184dc2fd3aap-26, 0x1.5e9f2bf5d6bd8p-31);
  const double outer =
      polynomial(s, 0x1.0aab23f0bed89p+2, -0x1.e72708e56a9b5p+2, 0x1.ec9a97a9b9b42p+2, -0x1.042157492719ap+2,
                 0x1.66201511f60ffp+0, -0x1.4e69512f3aa6bp-2, 0x1.ab62779b6f76cp-5, -0x1.6f8b6713c651ap-8,
                 0x1.94e905b81da5cp-12, -0x1.fff035defbd14p-17, 0x1.166e4da014f1bp-22);
  return x * (w < 6.25 ? inner : outer);
}

/// y inside of (-1, 1), and the limits elsewhere.
template <class T>
TANDEM_MATH T erfinv_limits(T x, T y) {
  const T outside = abs(x) == T(1) ? copysign(kInf<T>, x) : kNaN<T>;
  return abs(x) < T(1) ? y : outside;
}

}  // namespace detail

/// The inverse of erf; inf at 1, NaN beyond.
TANDEM_MATH float erfinv(float x) {
  const double t = static_cast<double>(x);
  const double w = -detail::log_wide((1.0 - t) * (1.0 + t));
  return detail::erfinv_limits(x, static_cast<float>(detail::erfinv_wide(t, w > 0.0 ? w : 0.0)));
}
TANDEM_MATH double erfinv(double x) {
  const double t = abs(x);
  const double y = detail::erfinv_wide(t, -TANDEM_LIBM(log)((1.0 - t) * (1.0 + t)));
  // One step of Halley's method. Near 1, the difference of the complements keeps its digits.
  const double error = t > 0.5 ? (1.0 - t) - TANDEM_LIBM(erfc)(y) : TANDEM_LIBM(erf)(y) - t;
  const double step = error * 0x1.c5bf891b4ef6bp-1 * TANDEM_LIBM(exp)(y * y);
  return detail::erfinv_limits(x, copysign(y - step / (1.0 + y * step), x));
}

#endif

namespace detail {

/// log(x), and sin and cos of pi f for |f| <= 1/2, in the precision of T.
template <class T>
TANDEM_MATH double log_for(double x) {
#if !defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float)) return x < kInf<double> ? log_wide(x) : x;
#endif
  return TANDEM_LIBM(log)(x);
}
template <class T>
TANDEM_MATH double sin_pi_for(double f) {
#if !defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float)) return sin_wide(0x1.921fb54442d18p+1 * f);
#endif
  return TANDEM_LIBM(sin)(0x1.921fb54442d18p+1 * f);
}
template <class T>
TANDEM_MATH double cos_pi_for(double f) {
#if !defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float)) return cos_wide(0x1.921fb54442d18p+1 * f);
#endif
  return TANDEM_LIBM(cos)(0x1.921fb54442d18p+1 * f);
}

}  // namespace detail

/// The derivative of log Gamma. Arguments below 10 are moved up by psi(x) = psi(x + 1) - 1 / x, negative ones are first
/// reflected: psi(x) = psi(1 - x) - pi / tan(pi x). Asymptotic series: Abramowitz and Stegun, 6.3.18.
template <class T>
TANDEM_MATH T digamma(T x) {
  const double t = static_cast<double>(x);
  const double z = t < 0.0 ? 1.0 - t : t;
  double below = 0.0;
  for (int k = 0; k < 10; ++k) below += 1.0 / (z + k);
  const bool move = z < 10.0;
  const double w = move ? z + 10.0 : z;
  const double u = 1.0 / (w * w);
  const double series =
      u * polynomial(u, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  const double psi = detail::log_for<T>(w) - 0.5 / w - series - (move ? below : 0.0);
  const double f = t - round(t);
  const double cotangent = detail::cos_pi_for<T>(f) / detail::sin_pi_for<T>(f);
  const double reflected = f == 0.0 ? kNaN<double> : psi - 0x1.921fb54442d18p+1 * cotangent;
  const double y = t < 0.0 ? reflected : (t == 0.0 ? copysign(kInf<double>, -t) : psi);
  return static_cast<T>(y);
}

/// The derivative of digamma, in the same way. Abramowitz and Stegun, 6.4.12.
template <class T>
TANDEM_MATH T trigamma(T x) {
  const double t = static_cast<double>(x);
  const double z = t < 0.0 ? 1.0 - t : t;
  double below = 0.0;
  for (int k = 0; k < 10; ++k) below += 1.0 / ((z + k) * (z + k));
  const bool move = z < 10.0;
  const double v = 1.0 / (move ? z + 10.0 : z), u = v * v;
  const double series = v * polynomial(u, 1.0, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730);
  const double slope = series + 0.5 * u + (move ? below : 0.0);
  const double s = detail::sin_pi_for<T>(t - round(t)) * 0x1.45f306dc9c883p-2;  // sin(pi x) / pi
  return static_cast<T>(t < 0.0 ? 1.0 / (s * s) - slope : slope);
}

/// sin(pi x) / (pi x), 1 at 0.
template <class T>
TANDEM_MATH T sinc(T x) {
  const T n = round(x);
  const T s = sin(T(0x1.921fb54442d18p+1) * (x - n));
  const T half = T(0.5) * n;
  const T y = (floor(half) != half ? -s : s) / (T(0x1.921fb54442d18p+1) * x);
  return x == T(0) ? T(1) : y;
}

/// log(z / (1 - z)), where z is x limited to [low, high].
template <class T>
TANDEM_MATH T logit(T x, T low, T high) {
  const T z = x < low ? low : (x > high ? high : x);
  return log(z / (T(1) - z));
}

}  // namespace tandem::math
#pragma GCC visibility pop
