#pragma once
// Lossless split of an f32 number into a bf16 number and the remaining 16 bits.
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The bits of an f32 number x as two halves: x rounded to bf16, and the low 16 bits of x.
struct SplitFloat {
  uint16_t rounded, remainder;
};

/// Splits x into two halves. x is rounded to nearest, with ties away from zero: with ties to even, an even bf16 number
/// would represent 2^16 + 1 numbers, more than the remainder can distinguish. A NaN becomes the quiet NaN of its sign.
TANDEM_MATH SplitFloat split_float(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  bits = (bits & 0x7fffffffu) > 0x7f800000u ? (bits & 0x80000000u) | 0x7fc00000u : bits;
  return {static_cast<uint16_t>((bits + 0x8000u) >> 16), static_cast<uint16_t>(bits)};
}

/// Joins two halves to the f32 number. If the top bit of the remainder is set, x was rounded up, and the carry is
/// undone.
TANDEM_MATH float join_float(SplitFloat halves) {
  const uint32_t carry = halves.remainder >> 15;
  const uint32_t bits = ((static_cast<uint32_t>(halves.rounded) - carry) << 16) | halves.remainder;
  return __builtin_bit_cast(float, bits);
}

}  // namespace tandem::math
#pragma GCC visibility pop
