#pragma once
// The mantissa and the exponent of a floating-point number, by its bits: x = mantissa 2^exponent with a mantissa whose
// size is in [0.5, 1).
#include <type_traits>

#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

namespace detail {

template <class T>
struct FloatLayout {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int kFraction = sizeof(T) == 4 ? 23 : 52;
  static constexpr int kBias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr Bits kExponent = Bits{2 * kBias + 1} << kFraction;
  static constexpr T kSmallestNormal = T(sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022);
  static constexpr T kLift = T(Bits{1} << kFraction);  ///< makes every subnormal number a normal one
};

}  // namespace detail

/// 0 for 0, infinities and NaN.
template <class T>
TANDEM_MATH T frexp_exponent(T x) {
  using Layout = detail::FloatLayout<T>;
  using Bits = typename Layout::Bits;
  const bool small = abs(x) < Layout::kSmallestNormal;
  const Bits field = (bits_as<Bits>(small ? x * Layout::kLift : x) & Layout::kExponent) >> Layout::kFraction;
  const int exponent = static_cast<int>(field) - (Layout::kBias - 1) - (small ? Layout::kFraction : 0);
  return bool((x == T(0)) | (x - x != T(0))) ? T(0) : static_cast<T>(exponent);
}

/// x itself for 0, infinities and NaN.
template <class T>
TANDEM_MATH T frexp_mantissa(T x) {
  using Layout = detail::FloatLayout<T>;
  using Bits = typename Layout::Bits;
  constexpr Bits kHalf = Bits{Layout::kBias - 1} << Layout::kFraction;
  const T normal = abs(x) < Layout::kSmallestNormal ? x * Layout::kLift : x;
  const T mantissa = bits_as<T>((bits_as<Bits>(normal) & ~Layout::kExponent) | kHalf);
  return bool((x == T(0)) | (x - x != T(0))) ? x : mantissa;
}

}  // namespace tandem::math
#pragma GCC visibility pop
