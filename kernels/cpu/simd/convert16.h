#pragma once
// Conversion of rows between f32 and f16 or bf16, for files under simd/. Narrowing rounds to nearest even and NaN stays
// NaN; the results equal those of base/half.h on every instruction set. Branch-free, so that plain loops vectorise.
#include <cstdint>

#include "tandem/base/macros.h"
#include "tandem/math/amp.h"
#if defined(__AVX2__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false positives in GCC 12's own header: PR 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/cpu/simd/dispatch.h"
#endif

namespace tandem::cpu::TANDEM_SIMD {

struct F16 {
  static constexpr uint32_t non_finite = math::kNonFiniteF16;

#if defined(__aarch64__)
  TANDEM_MATH static float widen(uint16_t h) { return static_cast<float>(__builtin_bit_cast(__fp16, h)); }
  TANDEM_MATH static uint16_t narrow(float x) { return __builtin_bit_cast(uint16_t, static_cast<__fp16>(x)); }
  /// Rounds most numbers of a row and returns how many. GCC 12 does not vectorise the plain loop.
  TANDEM_MATH static int64_t narrow_vectors(const float* x, uint16_t* y, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const float16x4_t low = vcvt_f16_f32(vld1q_f32(x + i));
      vst1q_u16(y + i, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(x + i + 4))));
    }
    return i;
  }
#else
  TANDEM_MATH static float widen(uint16_t h) {
    const uint32_t sign = (static_cast<uint32_t>(h) & 0x8000u) << 16;
    const uint32_t shifted = (static_cast<uint32_t>(h) & 0x7fffu) << 13;
    // The multiplication changes the exponent's bias from 15 to 127, for subnormals too.
    const uint32_t finite = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, shifted) * 0x1p112f);
    return __builtin_bit_cast(float, sign | (shifted >= 0x0f800000u ? shifted | 0x7f800000u : finite));
  }
  TANDEM_MATH static uint16_t narrow(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Adding 0.5 aligns a mantissa below 2^-14 to multiples of 2^-24 and rounds it.
    const uint32_t small = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
    uint32_t h = magnitude < 0x38800000u ? small : normal;
    h = magnitude >= non_finite ? 0x7c00u : h;
    h = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : h;
    return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | h);
  }
#endif
#if defined(__AVX512F__)
  TANDEM_MATH static __m512 widen16(__m256i h) { return _mm512_cvtph_ps(h); }
  TANDEM_MATH static __m256i narrow16(__m512 x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
  TANDEM_MATH static __m512i narrow32(__m512 low, __m512 high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(narrow16(low)), narrow16(high), 1);
  }
#elif defined(__AVX2__)
  TANDEM_MATH static __m256 widen8(__m128i h) { return _mm256_cvtph_ps(h); }
  TANDEM_MATH static __m128i narrow8(__m256 x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
#endif
};

struct BF16 {
  static constexpr uint32_t non_finite = math::kNonFiniteBF16;

  TANDEM_MATH static float widen(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }
  /// The result's bits are the high half of the word.
  TANDEM_MATH static uint32_t round(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded;
  }
  TANDEM_MATH static uint16_t narrow(float x) { return static_cast<uint16_t>(round(x) >> 16); }
#if defined(__AVX512F__)
  TANDEM_MATH static __m512 widen16(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
  }
  TANDEM_MATH static __m512i round(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), even);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(0x400000));
  }
  TANDEM_MATH static __m256i narrow16(__m512 x) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(round(x), 16)); }
  TANDEM_MATH static __m512i narrow32(__m512 low, __m512 high) {
    const __m512i odd_words = _mm512_set_epi32(  // 1, 3, .. 63
        0x3f003d, 0x3b0039, 0x370035, 0x330031, 0x2f002d, 0x2b0029, 0x270025, 0x230021, 0x1f001d, 0x1b0019, 0x170015,
        0x130011, 0x0f000d, 0x0b0009, 0x070005, 0x030001);
    return _mm512_permutex2var_epi16(round(low), odd_words, round(high));
  }
#elif defined(__AVX2__)
  TANDEM_MATH static __m256 widen8(__m128i h) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
  }
  TANDEM_MATH static __m128i narrow8(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i high = _mm256_srli_epi32(bits, 16);
    const __m256i even = _mm256_and_si256(high, _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), even);
    const __m256i rounded = _mm256_srli_epi32(sum, 16);
    const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }
#elif defined(__aarch64__) && defined(__clang__)
  TANDEM_MATH static int64_t narrow_vectors(const float*, uint16_t*, int64_t) { return 0; }
#elif defined(__aarch64__)
  /// Rounds most numbers of a row if the processor has an instruction for it, and returns how many. The plain loop is
  /// vectorised too.
  TANDEM_MATH static int64_t narrow_vectors(const float* x, uint16_t* y, int64_t n) {
    constexpr int64_t kWorthACall = 32;
    return n >= kWorthACall && simd_rounds_bf16() ? narrow_by_instruction(x, y, n) : 0;
  }
  [[gnu::target("arch=armv8.2-a+bf16")]] static int64_t narrow_by_instruction(const float* x, uint16_t* y, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const bfloat16x8_t low = vcvtq_low_bf16_f32(vld1q_f32(x + i));
      vst1q_u16(y + i, vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(low, vld1q_f32(x + i + 4))));
    }
    return i;
  }
#endif
};

/// y_i = x_i, exactly.
template <class Format>
TANDEM_MATH void widen_row(const uint16_t* __restrict x, float* __restrict y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(y + i, Format::widen16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
  }
#elif defined(__AVX2__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, Format::widen8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
#endif
  for (; i < n; ++i) y[i] = Format::widen(x[i]);
}

/// y_i = x_i, rounded.
template <class Format>
TANDEM_MATH void narrow_row(const float* __restrict x, uint16_t* __restrict y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 32 <= n; i += 32) {
    _mm512_storeu_si512(y + i, Format::narrow32(_mm512_loadu_ps(x + i), _mm512_loadu_ps(x + i + 16)));
  }
  if (i + 16 <= n) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), Format::narrow16(_mm512_loadu_ps(x + i)));
    i += 16;
  }
#elif defined(__AVX2__)
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), Format::narrow8(_mm256_loadu_ps(x + i)));
  }
#elif defined(__aarch64__)
  i = Format::narrow_vectors(x, y, n);
#endif
  for (; i < n; ++i) y[i] = Format::narrow(x[i]);
}

/// The same with non-temporal stores, for rows that are not read soon: saves reading the lines that are overwritten.
/// The caller ends a series of these with stream_fence().
template <class Format>
TANDEM_MATH void narrow_row_stream(const float* __restrict x, uint16_t* __restrict y, int64_t n) {
#if defined(__AVX2__)
  int64_t i = 0;
  for (; i < n && reinterpret_cast<uintptr_t>(y + i) % 64 != 0; ++i) y[i] = Format::narrow(x[i]);
#if defined(__AVX512F__)
  for (; i + 32 <= n; i += 32) {
    const __m512i rounded = Format::narrow32(_mm512_loadu_ps(x + i), _mm512_loadu_ps(x + i + 16));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(y + i), rounded);
  }
#else
  for (; i + 16 <= n; i += 16) {
    const __m128i low = Format::narrow8(_mm256_loadu_ps(x + i));
    const __m128i high = Format::narrow8(_mm256_loadu_ps(x + i + 8));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(y + i), _mm256_set_m128i(high, low));
  }
#endif
  for (; i < n; ++i) y[i] = Format::narrow(x[i]);
#else
  narrow_row<Format>(x, y, n);
#endif
}

TANDEM_MATH void stream_fence() {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}

}  // namespace tandem::cpu::TANDEM_SIMD
