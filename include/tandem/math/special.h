#pragma once
// Special functions: erfc, erfinv, lgamma, digamma, trigamma, i0, i1, sinc and logit. The float versions of erfc,
// erfinv and digamma compute in double, with polynomials for float's precision, and round once.
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

/// A Chebyshev series, the coefficient of the highest degree first, at t / 2 in [-1, 1]. Half of the last coefficient
/// counts. Source: Clenshaw's recurrence.
template <class... C>
TANDEM_MATH double chebyshev(double t, C... coefficients) {
  double b0 = 0.0, b1 = 0.0, b2 = 0.0;
  ((b2 = b1, b1 = b0, b0 = t * b1 - b2 + coefficients), ...);
  return 0.5 * (b0 - b2);
}

/// The modified Bessel function of the first kind of order 0. Chebyshev series for e^-x I0(x) up to 8, and beyond for
/// e^-x sqrt(x) I0(x), in double; coefficients by mpmath.
template <class T>
TANDEM_MATH T i0(T x) {
  const T magnitude = abs(x);
  const double z = static_cast<double>(magnitude);
  const double near =
      chebyshev((z < 8.0 ? z : 8.0) / 2.0 - 2.0, -0x1.45cb72134d0efp-58, 0x1.33362977da589p-55, -0x1.184eb721ebbb4p-52,
                0x1.ee6d893f65ebap-50, -0x1.a5022c297fbebp-47, 0x1.59b464b262627p-44, -0x1.1164c62ee1af0p-41,
                0x1.9fe2fe19bd324p-39, -0x1.2fc957a946abcp-36, 0x1.a98becc743c10p-34, -0x1.1d4fe13ae9556p-31,
                0x1.6d903a454cb34p-29, -0x1.beaf68c0b30abp-27, 0x1.03b769d4d6435p-24, -0x1.1ec638f227f8dp-22,
                0x1.2bf24978cf4acp-20, -0x1.2866fcba56427p-18, 0x1.13f58be9a2859p-16, -0x1.e2b2659c41d5ap-15,
                0x1.8b51b74107cabp-13, -0x1.2e2fd1f15eb52p-11, 0x1.adc758a12100ep-10, -0x1.1b65e201aa849p-8,
                0x1.59961f3dde3ddp-7, -0x1.84e9ef121b6f0p-6, 0x1.93e8acea8a32dp-5, -0x1.84b70342d06eap-4,
                0x1.5f7ac77ac88c0p-3, -0x1.37febc057cd8dp-2, 0x1.5a84e9035a22ap-1);
  const double w = z > 8.0 ? z : 8.0;
  const double far = chebyshev(
      32.0 / w - 2.0, -0x1.0adb754ca8b19p-57, -0x1.646da66119130p-58, 0x1.9be1812d98421p-55, 0x1.3f3dd076041cdp-55,
      -0x1.4600babd21fe4p-52, -0x1.8aee7d908de38p-52, 0x1.fee7da3eafb1fp-50, 0x1.12a919094e6d7p-48,
      -0x1.583fe7e65629ap-47, -0x1.75d99cf68bb32p-45, 0x1.156ff0d5fc545p-46, 0x1.b1c8c6b83c073p-42,
      0x1.94347fa268cecp-41, -0x1.f904303178d66p-40, -0x1.d0fd7357e7bf2p-37, -0x1.1511d08397425p-35,
      0x1.a24feabe8004fp-37, 0x1.0f9ccc0f46f75p-31, 0x1.d2c64a9225b87p-29, 0x1.8569280d6d56dp-26, 0x1.b8007d9cd616ep-23,
      0x1.8412bc101c586p-19, 0x1.20fa378999e52p-14, 0x1.b998ca2e59049p-9, 0x1.9be62aca809cbp-1);
  const double series = z <= 8.0 ? near : far / TANDEM_LIBM(sqrt)(w);
  return x != x ? x : static_cast<T>(static_cast<double>(exp(magnitude)) * series);
}

/// The same of order 1, the derivative of i0; up to 8, the series is of e^-x I1(x) / x.
template <class T>
TANDEM_MATH T i1(T x) {
  const T magnitude = abs(x);
  const double z = static_cast<double>(magnitude);
  const double near =
      chebyshev((z < 8.0 ? z : 8.0) / 2.0 - 2.0, 0x1.99f2a0c3c4014p-59, -0x1.857d0c38a0576p-56, 0x1.663e3e593bfacp-53,
                -0x1.3eaaa7e0d1573p-50, 0x1.11d7f0615290cp-47, -0x1.c628e1c8f0b3bp-45, 0x1.6af784779d955p-42,
                -0x1.173835fb70366p-39, 0x1.9cee2b21d3154p-37, -0x1.2510397eb07dep-34, 0x1.8ea34b43fdf6cp-32,
                -0x1.0361b28ea67e6p-29, 0x1.4258e02395010p-27, -0x1.7dd3e24b8c3e8p-25, 0x1.ae344b347d108p-23,
                -0x1.cc0798363992ap-21, 0x1.d1c4ed511afc5p-19, -0x1.bd5f9b8debbcfp-17, 0x1.911b542c70d0bp-15,
                -0x1.533cad3d694fep-13, 0x1.0c95db6c6df7dp-11, -0x1.8cc620b3cd4a4p-10, 0x1.1065349d3a1b4p-8,
                -0x1.5a29f7913a26ap-7, 0x1.951e3e7bb2349p-6, -0x1.b1bbc537c9ebcp-5, 0x1.a46dad536f53cp-4,
                -0x1.694d10469192ep-3, 0x1.02a63724a7ffap-2);
  const double w = z > 8.0 ? z : 8.0;
  const double far =
      chebyshev(32.0 / w - 2.0, 0x1.1556db352e8e6p-57, 0x1.45b8aea87b950p-58, -0x1.acea3b2532277p-55,
                -0x1.2806c9c773320p-55, 0x1.55915fceb588ap-52, 0x1.7d68e5f04a2d1p-52, -0x1.0efcd8bc4d22ap-49,
                -0x1.12db5138afbc7p-48, 0x1.776e1762d31e8p-47, 0x1.80d3c26b3281ep-45, -0x1.7a9482e6d22a0p-46,
                -0x1.cbc458e73e255p-42, -0x1.953e1076ab493p-41, 0x1.1e7d3f6439fa3p-39, 0x1.f101f653c457bp-37,
                0x1.1e1a1f1587865p-35, -0x1.4dcf9d4504c0cp-36, -0x1.334ca5423dd80p-31, -0x1.0790b9ad53528p-28,
                -0x1.c415394bb46c1p-26, -0x1.0dbfd2e9e5443p-22, -0x1.048df49ca0373p-18, -0x1.cfd7f804aa9a6p-14,
                -0x1.3fda053fcdb4cp-7, 0x1.8ea18b55b1514p-1);
  const double series = z <= 8.0 ? near * z : far / TANDEM_LIBM(sqrt)(w);
  const T y = static_cast<T>(static_cast<double>(exp(magnitude)) * series);
  return x != x ? x : (x < T(0) ? -y : y);
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
