#pragma once
// The scales with which numbers are multiplied before they are rounded to float8. Names and formulas are those of
// TransformerEngine and, for powers of two in e8m0fnu, of the microscaling formats (MX) of the Open Compute Project.
#include "tandem/base/float8.h"
#include "tandem/math/arithmetic.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The factor of numbers before they are rounded, and the factor of codes that gives the numbers back.
struct Float8Scale {
  float scale, inverse;
};

/// The largest scale: the largest finite f32.
inline constexpr float kMostFloat8Scale = 0x1.fffffep127f;

TANDEM_MATH bool is_finite_magnitude(float x) { return bits_as<uint32_t>(x) < 0x7f800000u; }

/// scale = largest / amax, at most the largest f32, rounded down to a power of two if wanted; an amax below `least`
/// counts as that. 1 if amax is 0, inf or NaN. The inverse of an inf or NaN is NaN: a product with a number beyond all
/// bounds must not look like a finite one.
TANDEM_MATH Float8Scale float8_scale(float amax, float largest, float least, bool power_of_two) {
  const float magnitude = amax < least ? least : amax;
  if (!is_finite_magnitude(magnitude)) return {1.0f, bits_as<float>(0x7fc00000u)};
  if (magnitude == 0) return {1.0f, 1.0f};
  float scale = largest / magnitude;
  if (scale > kMostFloat8Scale) scale = kMostFloat8Scale;
  if (power_of_two) scale = bits_as<float>(bits_as<uint32_t>(scale) & 0xff800000u);
  return {scale, 1.0f / scale};
}

/// The code in e8m0fnu of the least power of two 2^e, e >= -127, for which amax / largest is at most 2^e; 2^127 if
/// there is none, NaN for NaN.
TANDEM_MATH uint8_t float8_block_exponent(float amax, float largest) {
  const uint32_t bits = bits_as<uint32_t>(amax / largest);
  if (bits > 0x7f800000u) return 255;
  const uint32_t exponent = bits >> 23, mantissa = bits & 0x7fffffu;
  // Numbers up to 2^-127, half of the least normal one, have the exponent 0 already.
  const bool up = mantissa > (exponent == 0 ? 0x400000u : 0u);
  const uint32_t above = exponent + (up ? 1u : 0u);
  return static_cast<uint8_t>(above > 254 ? 254 : above);
}

/// Whether a scale suits numbers up to `amax`: it brings them to at most half a step beyond the largest code, where
/// nothing saturates, and to no less than 1/256 of that, so that numbers far below `amax` keep their digits. Any finite
/// scale suits an amax of 0, inf or NaN.
TANDEM_MATH bool float8_scale_fits(float scale, float amax, float largest) {
  if (amax == 0 || !is_finite_magnitude(amax)) return is_finite_magnitude(scale);
  const float most = amax * scale;
  return most >= largest * 0x1p-8f && most <= largest * 1.03125f;
}

/// The scale of the next iteration of delayed scaling: (largest / amax) factor, at most the largest f32; the present
/// one if amax is 0, inf or NaN.
TANDEM_MATH float next_delayed_scale(float present, float amax, float largest, float factor) {
  if (!(amax > 0) || !is_finite_magnitude(amax)) return present;
  const float next = largest / amax * factor;
  return next > kMostFloat8Scale ? kMostFloat8Scale : next;
}

}  // namespace tandem::math
#pragma GCC visibility pop
