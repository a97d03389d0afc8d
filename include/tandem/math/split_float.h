#pragma once
// An f32 number as a bf16 number and the 16 bits that it lacks, together exactly the f32 number.
#include <cstdint>

#include "tandem/base/macros.h"

namespace tandem::math {

/// The bits of an f32 number x as two halves: x rounded to bf16, and the low 16 bits of x.
struct SplitFloat {
  uint16_t rounded, remainder;
};

/// x in two halves. Rounded to nearest; of two equally near numbers the one farther from zero, where round to nearest
/// even may take the other: an even bf16 number would then stand for 2^16 + 1 numbers, more than a remainder can tell
/// apart. A NaN becomes the quiet one of its sign.
TANDEM_MATH SplitFloat split_float(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  bits = (bits & 0x7fffffffu) > 0x7f800000u ? (bits & 0x80000000u) | 0x7fc00000u : bits;
  return {static_cast<uint16_t>((bits + 0x8000u) >> 16), static_cast<uint16_t>(bits)};
}

/// The f32 number of two halves. A remainder whose top bit is set was rounded up: the carry is taken back.
TANDEM_MATH float join_float(SplitFloat halves) {
  const uint32_t carry = halves.remainder >> 15;
  const uint32_t bits = ((static_cast<uint32_t>(halves.rounded) - carry) << 16) | halves.remainder;
  return __builtin_bit_cast(float, bits);
}

}  // namespace tandem::math
