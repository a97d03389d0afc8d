#pragma once
// sin, cos, tan and their inverses, in the manner of approx.h: the float versions are branch-free, with an error of at
// most 3 ulp.
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

TANDEM_MATH double sin(double x) { return TANDEM_LIBM(sin)(x); }
TANDEM_MATH double cos(double x) { return TANDEM_LIBM(cos)(x); }
TANDEM_MATH double tan(double x) { return TANDEM_LIBM(tan)(x); }
TANDEM_MATH double asin(double x) { return TANDEM_LIBM(asin)(x); }
TANDEM_MATH double acos(double x) { return TANDEM_LIBM(acos)(x); }
TANDEM_MATH double atan(double x) { return TANDEM_LIBM(atan)(x); }
TANDEM_MATH double atan2(double y, double x) { return TANDEM_LIBM(atan2)(y, x); }

#if defined(__CUDA_ARCH__)

TANDEM_MATH float sin(float x) { return ::sinf(x); }
TANDEM_MATH float cos(float x) { return ::cosf(x); }
TANDEM_MATH float tan(float x) { return ::tanf(x); }
TANDEM_MATH float asin(float x) { return ::asinf(x); }
TANDEM_MATH float acos(float x) { return ::acosf(x); }
TANDEM_MATH float atan(float x) { return ::atanf(x); }
TANDEM_MATH float atan2(float y, float x) { return ::atan2f(y, x); }

#else

/// The float formulas of sin, cos and tan are valid up to this |x|. Beyond it, the CPU kernels call the C library.
inline constexpr float kMaxTrigArgument = 1e8f;

namespace detail {

/// sin and cos for |r| <= pi / 4.
TANDEM_MATH float sin_small(float r) {
  const float z = r * r;
  return r * z * polynomial(z, -0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f94p-13f, 0x1.6cd5ecp-19f) + r;
}
TANDEM_MATH float cos_small(float r) {
  const float z = r * r;
  return z * z * polynomial(z, 0x1.555556p-5f, -0x1.6c16b8p-10f, 0x1.a01118p-16f, -0x1.24290ap-22f) - 0.5f * z + 1.0f;
}

/// sin(r + quadrant pi / 2).
TANDEM_MATH float sin_in_quadrant(float r, uint32_t quadrant) {
  const float y = (quadrant & 1u) != 0 ? cos_small(r) : sin_small(r);
  return bits_as<float>(bits_as<uint32_t>(y) ^ ((quadrant & 2u) << 30));
}

/// x = quadrant pi / 2 + r, quadrant modulo 2^32.
struct Quadrant {
  double r;
  uint32_t quadrant;
};
TANDEM_MATH Quadrant quadrant_of(float x) {
  // In double, with pi / 2 in three parts. The first two have 26 bits, so their products are exact.
  constexpr double kRound = 0x1.8p52;
  const double wide = static_cast<double>(x);
  const double shifted = wide * 0x1.45f306dc9c883p-1 + kRound;
  const double n = shifted - kRound;
  const double r = ((wide - n * 0x1.921fb5p+0) - n * 0x1.110b46p-26) - n * 0x1.1a62633145c07p-54;
  return {r, static_cast<uint32_t>(bits_as<uint64_t>(shifted))};
}

/// sin(x + shift pi / 2).
TANDEM_MATH float sin_shifted(float x, uint32_t shift) {
  const Quadrant q = quadrant_of(x);
  return sin_in_quadrant(static_cast<float>(q.r), q.quadrant + shift);
}

/// sin and cos for |r| <= pi / 2, with an error of 2^-37: the first terms of the series.
TANDEM_MATH double sin_wide(double r) {
  const double z = r * r;
  return r * polynomial(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
                        -1.0 / 1307674368000.0);
}
TANDEM_MATH double cos_wide(double r) {
  const double z = r * r;
  return polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0,
                    -1.0 / 87178291200.0, 1.0 / 20922789888000.0);
}

}  // namespace detail

/// Sine, for |x| <= kMaxTrigArgument.
TANDEM_MATH float sin(float x) { return x == 0.0f ? x : detail::sin_shifted(x, 0); }
/// Cosine, for |x| <= kMaxTrigArgument.
TANDEM_MATH float cos(float x) { return detail::sin_shifted(x, 1); }

/// Tangent, for |x| <= kMaxTrigArgument.
TANDEM_MATH float tan(float x) {
  const detail::Quadrant q = detail::quadrant_of(x);
  const double s = detail::sin_wide(q.r), c = detail::cos_wide(q.r);
  const bool odd = (q.quadrant & 1u) != 0;
  const double y = (odd ? -c : s) / (odd ? s : c);
  return x == 0.0f ? x : static_cast<float>(y);
}

/// Angle of the point (x, y), in [-pi, pi].
TANDEM_MATH float atan2(float y, float x) {
  const float ax = abs(x), ay = abs(y);
  const bool steep = ay > ax;
  const float big = steep ? ay : ax, small = steep ? ax : ay;
  // 0 / 0 counts as 0, and inf / inf as 1.
  const float q = big == 0.0f ? 0.0f : (big == small ? 1.0f : small / big);
  const float z = q * q;
  const float p = polynomial(z, -0x1.55553ep-2f, 0x1.9991fep-3f, -0x1.2421b4p-3f, 0x1.c099fcp-4f, -0x1.58348ap-4f,
                             0x1.dac9ccp-5f, -0x1.fed132p-6f, 0x1.65a62ap-7f, -0x1.d62f96p-10f);
  const float angle = q * z * p + q;
  const float turned = steep ? 0x1.921fb6p+0f - (angle + 0x1.777a5cp-25f) : angle;
  const bool left = (bits_as<uint32_t>(x) >> 31) != 0;
  const float result = copysign(left ? 0x1.921fb6p+1f - (turned + 0x1.777a5cp-24f) : turned, y);
  return ((x != x) | (y != y)) ? x + y : result;
}
TANDEM_MATH float atan(float x) { return atan2(x, 1.0f); }
TANDEM_MATH float asin(float x) { return atan2(x, TANDEM_LIBM(sqrtf)((1.0f - x) * (1.0f + x))); }
TANDEM_MATH float acos(float x) { return atan2(TANDEM_LIBM(sqrtf)((1.0f - x) * (1.0f + x)), x); }

#endif

/// sin and cos of 2 pi `turns`, for 0 <= turns <= 1.
TANDEM_MATH void sincos_turns(float turns, float& s, float& c) {
#if defined(__CUDA_ARCH__)
  ::sincospif(2.0f * turns, &s, &c);
#else
  constexpr float kRound = 0x1.8p23f;
  const float shifted = 4.0f * turns + kRound;
  const float r = (turns - 0.25f * (shifted - kRound)) * 0x1.921fb6p+2f;  // exact difference, times 2 pi
  const uint32_t quadrant = bits_as<uint32_t>(shifted);
  s = detail::sin_in_quadrant(r, quadrant);
  c = detail::sin_in_quadrant(r, quadrant + 1);
#endif
}
TANDEM_MATH void sincos_turns(double turns, double& s, double& c) {
  s = sin(0x1.921fb54442d18p+2 * turns);
  c = cos(0x1.921fb54442d18p+2 * turns);
}

}  // namespace tandem::math
#pragma GCC visibility pop
