#pragma once
// Loops of intrinsics over rows of f32 and bf16, for files under simd/ whose formulas plain loops do not express.
// AVX-512 only.
#include "kernels/cpu/simd/convert16.h"

#if defined(__AVX512F__)
namespace tandem::cpu::TANDEM_SIMD {

/// y_i = f(x_i...) for vectors of f32. y may be one of the rows.
template <class F, class... X>
TANDEM_MATH void map_vectors(float* y, int64_t n, const F& f, const X*... x) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, f(_mm512_loadu_ps(x + i)...));
  if (i == n) return;
  const auto rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm512_mask_storeu_ps(y + i, rest, f(_mm512_maskz_loadu_ps(rest, x + i)...));
}

/// The same for bf16, given as its bits: computed in f32, rounded once.
template <class F, class... X>
TANDEM_MATH void map_vectors(uint16_t* y, int64_t n, const F& f, const X*... x) {
  const __m512i seconds = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const auto map = [&](auto... pairs) {
    const __m512i first = BF16::round(f(_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))...));
    const __m512i second = BF16::round(f(_mm512_castsi512_ps(_mm512_and_si512(pairs, seconds))...));
    return _mm512_or_si512(_mm512_srli_epi32(first, 16), _mm512_and_si512(second, seconds));
  };
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) _mm512_storeu_si512(y + i, map(_mm512_loadu_si512(x + i)...));
  if (i == n) return;
  const auto rest = static_cast<__mmask32>((1u << (n - i)) - 1);
  _mm512_mask_storeu_epi16(y + i, rest, map(_mm512_maskz_loadu_epi16(rest, x + i)...));
}

}  // namespace tandem::cpu::TANDEM_SIMD
#endif
