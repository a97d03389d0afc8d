#pragma once
// 16-bit floating-point storage types. They store and convert values; arithmetic is done in float.
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace detail {

// In device code and on 64-bit ARM each f16 conversion is a single instruction. The portable code keeps the sign and
// payload of a NaN, as ARM's instructions do; those of the GPU return a canonical NaN.

/// Converts f32 to f16 bits, rounding to nearest even. Subnormals are kept, NaN stays NaN (quiet), |x| >= 65520 becomes
/// inf.
TANDEM_HOST_DEVICE constexpr uint16_t float_to_half_bits(float x) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
  }
#elif defined(__aarch64__) && !defined(__CUDACC__)
  // Not a cast to __fp16: GCC removes a cast to f32 and back, which makes a signalling NaN quiet.
  if (!__builtin_is_constant_evaluated()) {
    __fp16 half;
    asm("fcvt %h0, %s1" : "=w"(half) : "w"(x));
    return __builtin_bit_cast(uint16_t, half);
  }
#endif
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 aligns the mantissa to multiples of 2^-24 and rounds it
    const float aligned = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (__builtin_bit_cast(uint32_t, aligned) - 0x3f000000u));
  }
  const uint32_t rebiased = magnitude - 0x38000000u;  // exponent bias 127 -> 15
  return static_cast<uint16_t>(sign | ((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13));
}

/// Converts f16 bits to f32 exactly; a signalling NaN becomes quiet.
TANDEM_HOST_DEVICE constexpr float half_bits_to_float(uint16_t h) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
  }
#elif defined(__aarch64__) && !defined(__CUDACC__)
  if (!__builtin_is_constant_evaluated()) return static_cast<float>(__builtin_bit_cast(__fp16, h));
#endif
  const uint32_t sign = (static_cast<uint32_t>(h) & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h) & 0x7fffu;
  if (magnitude > 0x7c00u) {  // NaN, made quiet as the CPU's conversion instruction does
    return __builtin_bit_cast(float, sign | 0x7fc00000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude == 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u);
  if (magnitude < 0x0400u) {  // subnormal: magnitude * 2^-24, exactly
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, value));
  }
  return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000u));
}

/// Converts f32 to bf16 bits, rounding to nearest even; NaN stays NaN (quiet).
TANDEM_HOST_DEVICE constexpr uint16_t float_to_bfloat16_bits(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Converts bf16 bits to f32 exactly.
TANDEM_HOST_DEVICE constexpr float bfloat16_bits_to_float(uint16_t b) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(b) << 16);
}

}  // namespace detail

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 mantissa bits; largest finite value 65504, smallest 2^-24.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  TANDEM_HOST_DEVICE constexpr Half(float x) : bits(detail::float_to_half_bits(x)) {}
  TANDEM_HOST_DEVICE constexpr operator float() const { return detail::half_bits_to_float(bits); }
  /// The number with these bits.
  TANDEM_HOST_DEVICE static constexpr Half from_bits(uint16_t b) {
    Half h;
    h.bits = b;
    return h;
  }
};

/// bfloat16: the upper half of an f32 (8 exponent and 7 mantissa bits).
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  TANDEM_HOST_DEVICE constexpr BFloat16(float x) : bits(detail::float_to_bfloat16_bits(x)) {}
  TANDEM_HOST_DEVICE constexpr operator float() const { return detail::bfloat16_bits_to_float(bits); }
  /// The number with these bits.
  TANDEM_HOST_DEVICE static constexpr BFloat16 from_bits(uint16_t b) {
    BFloat16 h;
    h.bits = b;
    return h;
  }
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace tandem
#pragma GCC visibility pop
