#pragma once
// Numbers of 16 bits and rounding to any binary format, in every direction.
#include <cmath>
#include <cstdint>

#include "ptx/module.h"

namespace tandem::ptx {

struct Format {
  int mantissa_bits, least_exponent, largest_exponent;  ///< exponents of normal numbers; the first bit is not counted
};
inline constexpr Format kF16{10, -14, 15}, kBf16{7, -126, 127}, kF32{23, -126, 127};

/// Subnormal numbers become 0 and keep their sign.
template <class T>
T flushed(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T{0}, x) : x;
}

/// x rounded to an integer.
double rounded(double x, Rounding mode);

/// x rounded to the format, as a double; infinite if it is too large and the direction allows it.
double rounded(double x, const Format& format, Rounding mode);

/// The code of a number of the format f16 or bf16; NaN is 0x7fff.
uint16_t code_of(double x, const Format& format);
double value_of(uint16_t code, const Format& format);

}  // namespace tandem::ptx
