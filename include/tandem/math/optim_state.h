#pragma once
// Moments of optimizers that are kept in bf16, or in e4m3fn with a scale for each block of kStateBlock elements. They
// are rounded stochastically, so that they follow their f32 values on average: most steps change a moment by less than
// half a unit in its last place, which rounding to nearest would drop.
//
// Element i of a tensor, counted in row-major order, is rounded in step t by lane i % 4 of math::philox(t, i / 4, 0):
// first moments by the whole lane, second moments by the lane with its halves swapped. bf16 uses the upper half only.
// So the results depend on neither the device, the number of threads nor the other parameters, and saving the step
// count is enough to resume.
#include "tandem/math/float8_scale.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The number of elements, adjacent in row-major order, that share a scale. The last block may be shorter.
inline constexpr int64_t kStateBlock = 128;

/// The random bits of a second moment, from those of the first.
TANDEM_MATH uint32_t second_moment_lane(uint32_t lane) { return lane << 16 | lane >> 16; }

/// The bits of x in bf16, rounded towards 0 or away from it: away with the probability of the part of a step that is
/// lost, if `random` is uniform over all 32-bit numbers. Inf stays inf, and NaN becomes quiet.
TANDEM_MATH uint16_t round_to_bf16_stochastically(float x, uint32_t random) {
  const uint32_t bits = bits_as<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t added = magnitude < 0x7f800000u ? random >> 16 : magnitude > 0x7f800000u ? 0x400000u & ~bits : 0u;
  return static_cast<uint16_t>((bits + added) >> 16);
}

/// The bits of |x|, or 0 if x is not finite. The largest of a block determines its scale, so inf and NaN are lost only
/// where they occur.
TANDEM_MATH uint32_t finite_magnitude(float x) {
  const uint32_t magnitude = bits_as<uint32_t>(x) & 0x7fffffffu;
  return magnitude < 0x7f800000u ? magnitude : 0u;
}

/// The scale of a block whose largest finite magnitude is amax: a power of two, so that scaling is exact.
TANDEM_MATH Float8Scale state_scale(float amax) {
  return float8_scale(amax, tandem::detail::E4m3fn::widen(tandem::detail::E4m3fn::kLargest), 0, true);
}

/// The code of x, an element of a block with this scale. Inf becomes NaN.
TANDEM_MATH uint8_t round_to_e4m3fn_stochastically(float x, float scale, uint32_t random) {
  return tandem::detail::E4m3fn::round_stochastically(x * scale, random, Float8Overflow::overflow);
}

}  // namespace tandem::math
#pragma GCC visibility pop
