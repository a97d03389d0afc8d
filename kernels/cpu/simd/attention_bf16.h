#pragma once
// Steps of attention in bf16, for simd/attention.cpp. The functions need AVX512_BF16 beyond the level avx512; callers
// ask simd_multiplies_bf16() first.
#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/attention_tiles.h"
#include "kernels/cpu/simd/transpose16.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

#if defined(TANDEM_SIMD_avx512)

#define TANDEM_BF16 __attribute__((target("avx512bf16")))

/// Rows x (16 Panels) elements of c.
template <int Rows, int Panels>
TANDEM_BF16 void multiply_words(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column,
                                const uint32_t* b, int64_t words, float factor, bool accumulate) {
  __m512 sums[Rows][Panels];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 32
    for (int j = 0; j < Panels; ++j) {
      sums[i][j] = accumulate ? _mm512_loadu_ps(c + i * c_row + j * kPanel) : _mm512_setzero_ps();
    }
  }
  for (int64_t p = 0; p < words; ++p) {
    __m512bh columns[Panels];
#pragma GCC unroll 32
    for (int j = 0; j < Panels; ++j) {
      columns[j] = (__m512bh)_mm512_loadu_si512(b + (j * words + p) * kPanel);
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
      const __m512bh pair = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[i * a_row + p * a_column]));
#pragma GCC unroll 32
      for (int j = 0; j < Panels; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], pair, columns[j]);
    }
  }
  const __m512 scale = _mm512_set1_ps(accumulate ? 1.0f : factor);
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 32
    for (int j = 0; j < Panels; ++j) {
      _mm512_storeu_ps(c + i * c_row + j * kPanel, _mm512_mul_ps(sums[i][j], scale));
    }
  }
}

template <int Rows, int Panels>
void multiply_last_words(int64_t rows, float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column,
                         const uint32_t* b, int64_t words, float factor, bool accumulate) {
  if constexpr (Rows > 0) {
    if (rows == Rows) {
      multiply_words<Rows, Panels>(c, c_row, a, a_row, a_column, b, words, factor, accumulate);
    } else {
      multiply_last_words<Rows - 1, Panels>(rows, c, c_row, a, a_row, a_column, b, words, factor, accumulate);
    }
  }
}

template <int Panels>
void multiply_word_columns(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column,
                           const uint32_t* b, int64_t m, int64_t words, float factor, bool accumulate) {
  constexpr int kRows = 6;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    multiply_words<kRows, Panels>(c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, words, factor, accumulate);
  }
  multiply_last_words<kRows - 1, Panels>(m - i, c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, words, factor,
                                         accumulate);
}

void multiply_bf16(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column, const uint32_t* b,
                   int64_t m, int64_t n, int64_t words, float factor, bool accumulate) {
  int64_t j = 0;
  for (; j + 4 * kPanel <= n; j += 4 * kPanel) {
    multiply_word_columns<4>(c + j, c_row, a, a_row, a_column, b + j * words, m, words, factor, accumulate);
  }
  for (; j < n; j += kPanel) {
    multiply_word_columns<1>(c + j, c_row, a, a_row, a_column, b + j * words, m, words, factor, accumulate);
  }
}

void pack_bf16(uint32_t* panels, const uint16_t* x, int64_t row, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; j += kPanel) {
    const int64_t columns = n - j < kPanel ? n - j : kPanel;
    const __mmask16 mask = static_cast<__mmask16>((1u << columns) - 1);
    for (int64_t i = 0; i < k; i += 2, panels += kPanel) {
      const uint16_t* const from = x + i * row + j;
      const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
      const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(i + 1 < k ? mask : 0, from + row));
      _mm512_storeu_si512(panels, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }
}

void pack_words_transposed(uint32_t* panels, const uint32_t* x, int64_t row, int64_t n, int64_t words) {
  for (int64_t j = 0; j < n; j += kPanel, panels += words * kPanel) {
    transpose_rows16(panels, x + j * row, row * 4, n - j < kPanel ? n - j : kPanel, words);
  }
}

/// Rounded to nearest even; NaN stays NaN.
TANDEM_BF16 inline __m256i rounded(__m512 x) { return (__m256i)_mm512_cvtneps_pbh(x); }

TANDEM_BF16 void narrow_bf16(uint16_t* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = n - i < 16 ? static_cast<__mmask16>((1u << (n - i)) - 1) : static_cast<__mmask16>(0xffff);
    _mm256_mask_storeu_epi16(y + i, mask, rounded(_mm512_maskz_loadu_ps(mask, x + i)));
  }
}

TANDEM_BF16 void narrow_pairs_bf16(uint32_t* y, const float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = n - i < 16 ? static_cast<__mmask16>((1u << (n - i)) - 1) : static_cast<__mmask16>(0xffff);
    const __m512i low = _mm512_cvtepu16_epi32(rounded(_mm512_maskz_loadu_ps(mask, a + i)));
    const __m512i high = _mm512_cvtepu16_epi32(rounded(_mm512_maskz_loadu_ps(mask, b + i)));
    _mm512_mask_storeu_epi32(y + i, mask, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
}

/// 2^t of 16 numbers, 0 below 2^-126; NaN stays NaN. The relative error is below 1.5e-7.
inline __m512 exp2_of_weight(__m512 t) {
  const __m512 r = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF);  // t - floor(t); 0 for -inf
  // Minimax for 2^r on [0, 1], with p(0) = 1.
  constexpr float kTerms[] = {0x1.277852p-7f, 0x1.c91ce6p-5f, 0x1.ebdb56p-3f, 0x1.62e4bap-1f, 1};
  __m512 p = _mm512_set1_ps(0x1.e97502p-10f);
#pragma GCC unroll 5
  for (const float term : kTerms) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(term));
  const __mmask16 kept = _mm512_cmp_ps_mask(t, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(kept, p, t);  // p 2^floor(t)
}

TANDEM_BF16 float exp_and_sum_bf16(uint16_t* y, const float* s, int64_t n, float factor, float max) {
  const __m512 scale = _mm512_set1_ps(factor), greatest = _mm512_set1_ps(max);
  const __m512 log2_e = _mm512_set1_ps(math::detail::kLog2E);
  // The largest argument is 0, or for a factor other than 1 the rounding error of max.
  const auto weights = [&](__m512 s) {
    return exp2_of_weight(_mm512_mul_ps(_mm512_fmsub_ps(s, scale, greatest), log2_e));
  };
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m512 a = weights(_mm512_loadu_ps(s + i)), b = weights(_mm512_loadu_ps(s + i + 16));
    sums[0] = _mm512_add_ps(sums[0], a);
    sums[1] = _mm512_add_ps(sums[1], b);
    _mm512_storeu_si512(y + i, (__m512i)_mm512_cvtne2ps_pbh(b, a));
  }
  for (; i < n; i += 16) {
    const __mmask16 mask = n - i < 16 ? static_cast<__mmask16>((1u << (n - i)) - 1) : static_cast<__mmask16>(0xffff);
    const __m512 a = _mm512_maskz_mov_ps(mask, weights(_mm512_maskz_loadu_ps(mask, s + i)));
    sums[0] = _mm512_add_ps(sums[0], a);
    _mm256_mask_storeu_epi16(y + i, mask, rounded(a));
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1]));
}

#undef TANDEM_BF16

constexpr AttentionBf16Table kBf16Table = {multiply_bf16,    pack_bf16,   pack_words_transposed,
                                           exp_and_sum_bf16, narrow_bf16, narrow_pairs_bf16};
constexpr AttentionBf16Table kTilesTable = {multiply_tiles,   pack_bf16,   pack_words_transposed,
                                            exp_and_sum_bf16, narrow_bf16, narrow_pairs_bf16};

#else

constexpr AttentionBf16Table kBf16Table = {}, kTilesTable = {};

#endif

}  // namespace
}  // namespace tandem::cpu::TANDEM_SIMD
