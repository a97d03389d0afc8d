#pragma once
// Arithmetic used by all formulas, for float, double and int64. int64 wraps around, as in PyTorch.
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The bits of a number as another type of the same size.
template <class To, class From>
TANDEM_MATH To bits_as(From v) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, v);
}

/// Infinity.
template <class T>
inline constexpr T kInf = static_cast<T>(__builtin_inf());
/// A quiet NaN.
template <class T>
inline constexpr T kNaN = static_cast<T>(__builtin_nan(""));

TANDEM_MATH float abs(float x) { return bits_as<float>(bits_as<uint32_t>(x) & 0x7fffffffu); }
TANDEM_MATH double abs(double x) { return bits_as<double>(bits_as<uint64_t>(x) & 0x7fffffffffffffffu); }
TANDEM_MATH int64_t abs(int64_t x) { return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x; }

/// Rounds x to float so that a second rounding, to 16 bits, gives the same result as rounding x once: an inexact result
/// is the neighbour with an odd last bit. Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums.
TANDEM_MATH float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const uint32_t bits = bits_as<uint32_t>(nearest);
  const bool inexact_even = (back != x) & (x == x) & ((bits & 1u) == 0);
  const uint32_t odd = abs(back) > abs(x) ? bits - 1 : bits + 1;
  return bits_as<float>(inexact_even ? odd : bits);
}

/// |magnitude| with the sign of `sign`.
TANDEM_MATH float copysign(float magnitude, float sign) {
  return bits_as<float>((bits_as<uint32_t>(magnitude) & 0x7fffffffu) | (bits_as<uint32_t>(sign) & 0x80000000u));
}
TANDEM_MATH double copysign(double magnitude, double sign) {
  return bits_as<double>((bits_as<uint64_t>(magnitude) & 0x7fffffffffffffffu) |
                         (bits_as<uint64_t>(sign) & 0x8000000000000000u));
}

/// True for negative numbers, -0 and NaN with a sign.
TANDEM_MATH bool signbit(float x) { return (bits_as<uint32_t>(x) >> 31) != 0; }
TANDEM_MATH bool signbit(double x) { return (bits_as<uint64_t>(x) >> 63) != 0; }
TANDEM_MATH bool signbit(int64_t x) { return x < 0; }

/// x = inf, which no integer is.
template <class T>
TANDEM_MATH bool is_posinf(T x) {
  return x == kInf<T>;
}
TANDEM_MATH bool is_posinf(int64_t) { return false; }

template <class T>
TANDEM_MATH T neg(T x) {
  return -x;
}
template <class T>
TANDEM_MATH T add(T a, T b) {
  return a + b;
}
template <class T>
TANDEM_MATH T sub(T a, T b) {
  return a - b;
}
template <class T>
TANDEM_MATH T mul(T a, T b) {
  return a * b;
}
TANDEM_MATH int64_t neg(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }
TANDEM_MATH int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
TANDEM_MATH int64_t sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
TANDEM_MATH int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// The larger of a and b; NaN if either is NaN.
template <class T>
TANDEM_MATH T maximum(T a, T b) {
  const T larger = a < b ? b : a;  // a if a is NaN
  return b != b ? b : larger;
}
/// The smaller of a and b; NaN if either is NaN.
template <class T>
TANDEM_MATH T minimum(T a, T b) {
  const T smaller = a > b ? b : a;
  return b != b ? b : smaller;
}

}  // namespace tandem::math
#pragma GCC visibility pop
