#pragma once
// Moments of optimizers that are kept in bf16, or in e4m3fn with a scale for each block of 128 elements. They are
// rounded stochastically, so that they follow their f32 values on average: most steps change a moment by less than half
// a unit in its last place, which rounding to nearest would drop.
//
// In step t, block b uses the 16 counters from 16 b on of math::philox(t, .., kStateStream), and each element 16 bits:
// element i < 64 the lower half of lane i % 4 of counter i / 4, element i + 64 the upper half of the same lane. All
// moments of an element use the same bits, so they are usually rounded in the same direction, and the errors of their
// ratio partly cancel. The results depend on neither the device, the number of threads nor the other parameters, and
// saving the step count is enough to resume.
#include "tandem/math/float8_scale.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The number of elements of a block, adjacent in row-major order. The last block of a tensor may be shorter.
inline constexpr int64_t kStateBlock = 128;
/// The number of Philox counters for a block.
inline constexpr int64_t kStateCounters = kStateBlock / 8;
/// The last argument of math::philox(): no other random numbers use it.
inline constexpr uint32_t kStateStream = 2;

/// The key of the random bits of step t. Step counts are f32: they stay at 2^24, and with them the key.
TANDEM_MATH uint64_t state_key(float t) { return t > 0 && t < 0x1p63f ? static_cast<uint64_t>(t) : 0; }

/// The random bits of an element of the first or second half of a block, in the upper half of the result.
TANDEM_MATH uint32_t state_random(uint32_t lane, bool second_half) {
  return second_half ? lane & 0xffff0000u : lane << 16;
}

/// The bits of x in bf16, rounded towards 0 or away from it. The probability of rounding away is the discarded fraction
/// of a unit in the last place, if the upper half of `random` is uniform over all 16-bit numbers. Numbers above the
/// largest of bf16 may become inf; inf stays inf, and NaN becomes quiet.
TANDEM_MATH uint16_t round_to_bf16_stochastically(float x, uint32_t random) {
  const uint32_t bits = bits_as<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t added = magnitude < 0x7f800000u ? random >> 16 : magnitude > 0x7f800000u ? 0x400000u & ~bits : 0u;
  return static_cast<uint16_t>((bits + added) >> 16);
}

/// The bits of |x|, or 0 if x is not finite. The largest of a block determines its scale, so an inf or NaN changes only
/// its own element.
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
