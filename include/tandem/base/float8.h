#pragma once
// 8-bit floating-point storage types. They store and convert values; arithmetic is done in other dtypes.
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem {

/// What a conversion to float8 does with values that would be rounded beyond the largest finite one, 448 for e4m3fn and
/// 57344 for e5m2. PyTorch's casts saturate to e4m3fn and overflow to e5m2.
enum class Float8Overflow : uint8_t {
  saturate,  ///< the largest finite value, for inf too; NaN stays NaN
  overflow,  ///< NaN in e4m3fn, which has no inf; inf in e5m2
};

namespace detail {

/// A format with a sign, Exponent bits of the exponent, and Mantissa bits below the mantissa's leading 1. The largest
/// exponent has finite values, all but the last, which is NaN (Finite), or it has inf and NaN.
template <int Exponent, int Mantissa, bool Finite>
struct Float8Format {
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr int kShift = 23 - Mantissa;  ///< bits of an f32's mantissa that are rounded away
  static constexpr uint32_t kNan = 0x7f;
  static constexpr uint32_t kInf = Finite ? kNan : ((1u << Exponent) - 1) << Mantissa;  ///< what inf becomes
  static constexpr uint32_t kLargest = (Finite ? kNan : kInf) - 1;
  // As the bits of an f32:
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  static constexpr uint32_t kLeastNormal = kRebias + (1u << 23);
  static constexpr uint32_t kLeast = kLeastNormal - (static_cast<uint32_t>(Mantissa) << 23);  ///< subnormal
  static constexpr uint32_t kAligner = kLeast + (23u << 23);  ///< a power of two whose last place is kLeast
  static constexpr uint32_t kPartsOfLeast =
      (254u << 23) - kLeast + (static_cast<uint32_t>(kShift) << 23);  ///< 2^kShift / kLeast
  static constexpr Float8Overflow kTorch = Finite ? Float8Overflow::saturate : Float8Overflow::overflow;

  /// Rounds to nearest even. Branch-free, so that compilers vectorise loops over it.
  TANDEM_MATH static constexpr uint8_t round(float x, Float8Overflow overflow = kTorch) {
    const uint32_t magnitude = __builtin_bit_cast(uint32_t, x) & 0x7fffffffu;
    // Below the least normal number the sum aligns the mantissa to multiples of the least one, and rounds it.
    const float aligned = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kAligner);
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, aligned) - kAligner;
    const uint32_t rebiased = magnitude - kRebias, half = (1u << (kShift - 1)) - 1;
    const uint32_t normal = (rebiased + half + ((rebiased >> kShift) & 1u)) >> kShift;
    return finish(x, magnitude < kLeastNormal ? subnormal : normal, overflow);
  }

  /// Rounds towards 0 or away from it. The probability of rounding away is the discarded fraction of a unit in the last
  /// place, if `random` is uniform over all 32-bit numbers. Uses its upper kShift bits: a normal number loses exactly
  /// as many, and the bits of a subnormal number below those are dropped. Branch-free.
  TANDEM_MATH static constexpr uint8_t round_stochastically(float x, uint32_t random,
                                                            Float8Overflow overflow = kTorch) {
    const uint32_t magnitude = __builtin_bit_cast(uint32_t, x) & 0x7fffffffu, part = random >> (32 - kShift);
    const bool is_normal = magnitude >= kLeastNormal;
    // The magnitude in units of 2^-kShift times the least subnormal number.
    const float small =
        __builtin_bit_cast(float, is_normal ? 0u : magnitude) * __builtin_bit_cast(float, kPartsOfLeast);
    const uint32_t subnormal = static_cast<uint32_t>(static_cast<int32_t>(small));
    const uint32_t parts = is_normal ? magnitude - kRebias : subnormal;
    return finish(x, (parts + part) >> kShift, overflow);
  }

  /// Exact. Every NaN becomes the quiet NaN of the same sign.
  TANDEM_MATH static constexpr float widen(uint8_t bits) {
    const uint32_t sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    const float subnormal = static_cast<float>(magnitude) * __builtin_bit_cast(float, kLeast);
    const uint32_t normal = (magnitude << kShift) + kRebias;
    const uint32_t finite = magnitude < (1u << Mantissa) ? __builtin_bit_cast(uint32_t, subnormal) : normal;
    const uint32_t special = magnitude == kInf && !Finite ? 0x7f800000u : 0x7fc00000u;
    return __builtin_bit_cast(float, sign | (magnitude > kLargest ? special : finite));
  }

 private:
  /// Adds the sign of x to the rounded magnitude, which may be out of range, or replaces it if x is NaN.
  TANDEM_MATH static constexpr uint8_t finish(float x, uint32_t rounded, Float8Overflow overflow) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t beyond = overflow == Float8Overflow::saturate ? kLargest : kInf;
    const uint32_t limited = rounded > kLargest ? beyond : rounded;
    return static_cast<uint8_t>(((bits & 0x7fffffffu) > 0x7f800000u ? kNan : limited) | ((bits >> 24) & 0x80u));
  }
};
using E4m3fn = Float8Format<4, 3, true>;
using E5m2 = Float8Format<5, 2, false>;

/// Powers of two without a sign.
struct E8m0fnu {
  /// Rounds the magnitude to the nearest power of two, and a tie to the larger one; 2^-127 for magnitudes up to 2^-127,
  /// NaN for inf and NaN. Source: torch.float8_e8m0fnu.
  TANDEM_MATH static constexpr uint8_t round(float x) {
    const uint32_t magnitude = __builtin_bit_cast(uint32_t, x) & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23, mantissa = magnitude & 0x7fffffu;
    const bool up = mantissa > 0x400000u || (mantissa == 0x400000u && exponent > 0);
    return static_cast<uint8_t>(exponent == 255 || !up ? exponent : exponent + 1);
  }
  TANDEM_MATH static constexpr float widen(uint8_t bits) {
    const uint32_t f32 = bits == 255 ? 0x7fc00000u : bits == 0 ? 0x400000u : static_cast<uint32_t>(bits) << 23;
    return __builtin_bit_cast(float, f32);
  }
};

/// An element of a format.
template <class Format>
struct Float8 {
  uint8_t bits = 0;

  Float8() = default;
  TANDEM_HOST_DEVICE constexpr Float8(float x) : bits(Format::round(x)) {}
  TANDEM_HOST_DEVICE constexpr operator float() const { return Format::widen(bits); }
  TANDEM_HOST_DEVICE static constexpr Float8 from_bits(uint8_t b) {
    Float8 x;
    x.bits = b;
    return x;
  }
};

}  // namespace detail

/// 1 sign, 4 exponent and 3 mantissa bits: up to 448, down to 2^-9; NaN, but no inf. Rounds to nearest even.
using Float8_e4m3fn = detail::Float8<detail::E4m3fn>;
/// 1 sign, 5 exponent and 2 mantissa bits, the upper half of an f16: up to 57344, down to 2^-16; inf and NaN. Rounds to
/// nearest even.
using Float8_e5m2 = detail::Float8<detail::E5m2>;
/// 8 exponent bits: the powers of two from 2^-127 to 2^127, and NaN; no sign and no 0. For scales.
using Float8_e8m0fnu = detail::Float8<detail::E8m0fnu>;

static_assert(sizeof(Float8_e4m3fn) == 1 && sizeof(Float8_e5m2) == 1 && sizeof(Float8_e8m0fnu) == 1);

}  // namespace tandem
#pragma GCC visibility pop
