#include "ptx/formats.h"

#include <limits>

namespace tandem::ptx {

double rounded(double x, Rounding mode) {
  switch (mode) {
    case Rounding::zero:
      return std::trunc(x);
    case Rounding::down:
      return std::floor(x);
    case Rounding::up:
      return std::ceil(x);
    default:
      return std::nearbyint(x);  // ties to even: the host's mode is to nearest here
  }
}

double rounded(double x, const Format& format, Rounding mode) {
  if (x == 0 || !std::isfinite(x)) return x;
  // Between two numbers of the format there is one quantum; dividing by it is exact.
  const int exponent = std::max(std::ilogb(x), format.least_exponent) - format.mantissa_bits;
  const double result = std::copysign(std::ldexp(rounded(std::ldexp(x, -exponent), mode), exponent), x);
  const double largest = std::ldexp(2 - std::ldexp(1, -format.mantissa_bits), format.largest_exponent);
  if (std::fabs(result) <= largest) return result;
  const bool stays = mode == Rounding::zero || (mode == Rounding::down && x > 0) || (mode == Rounding::up && x < 0);
  return std::copysign(stays ? largest : std::numeric_limits<double>::infinity(), x);
}

uint16_t code_of(double x, const Format& format) {
  if (std::isnan(x)) return 0x7fff;
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const int infinite = (format.largest_exponent + 1 - format.least_exponent + 1) << format.mantissa_bits;
  if (std::isinf(x)) return static_cast<uint16_t>(sign | infinite);
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  // Subnormal numbers have the exponent's code 0, normal ones begin at 1 with their first bit as a carry.
  const auto mantissa = static_cast<int>(std::ldexp(std::fabs(x), format.mantissa_bits - exponent));
  return static_cast<uint16_t>(sign | (((exponent - format.least_exponent) << format.mantissa_bits) + mantissa));
}

double value_of(uint16_t code, const Format& format) {
  const int exponent = (code & 0x7fff) >> format.mantissa_bits, mantissa = code & ((1 << format.mantissa_bits) - 1);
  const double sign = code & 0x8000 ? -1 : 1;
  if (exponent > format.largest_exponent + 1 - format.least_exponent) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int implicit = exponent ? 1 << format.mantissa_bits : 0;
  return sign *
         std::ldexp(implicit + mantissa, std::max(exponent, 1) - 1 + format.least_exponent - format.mantissa_bits);
}

}  // namespace tandem::ptx
