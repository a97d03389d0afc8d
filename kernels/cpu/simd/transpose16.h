#pragma once
// Transposes of 16 x 16 blocks of 32-bit words, for files under simd/.
#include <cstdint>

#include "kernels/cpu/simd/convert16.h"

namespace tandem::cpu::TANDEM_SIMD {

/// y[p][q] = x[q][p] for p < k and q < 16, where row q of x begins at byte q row_bytes, and rows from `rows` on count
/// as 0; rows of y have 16 words. Reads k words of each row.
TANDEM_MATH void transpose_rows16(uint32_t* __restrict y, const void* x, int64_t row_bytes, int64_t rows, int64_t k) {
  const char* const from = static_cast<const char*>(x);
  int64_t p = 0;
#if defined(__AVX512F__)
  if (rows == 16) {
    for (; p < k; p += 16) {
      const int64_t columns = k - p < 16 ? k - p : 16;
      const __mmask16 mask = static_cast<__mmask16>((1u << columns) - 1);
      __m512i a[16], b[16];
#pragma GCC unroll 16
      for (int q = 0; q < 16; ++q) a[q] = _mm512_maskz_loadu_epi32(mask, from + q * row_bytes + p * 4);
#pragma GCC unroll 8
      for (int q = 0; q < 16; q += 2) {
        b[q] = _mm512_unpacklo_epi32(a[q], a[q + 1]);
        b[q + 1] = _mm512_unpackhi_epi32(a[q], a[q + 1]);
      }
#pragma GCC unroll 4
      for (int q = 0; q < 16; q += 4) {  // now a[q + i] has column i of each 128-bit part, rows q to q + 3
        a[q] = _mm512_unpacklo_epi64(b[q], b[q + 2]);
        a[q + 1] = _mm512_unpackhi_epi64(b[q], b[q + 2]);
        a[q + 2] = _mm512_unpacklo_epi64(b[q + 1], b[q + 3]);
        a[q + 3] = _mm512_unpackhi_epi64(b[q + 1], b[q + 3]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);  // columns i and i + 8 of rows 0 to 7
        b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        a[i] = _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_i32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xdd);
      }
#pragma GCC unroll 16
      for (int q = 0; q < 16; ++q) {
        if (q < columns) _mm512_storeu_si512(y + (p + q) * 16, a[q]);
      }
    }
    return;
  }
#endif
  for (; p < k; ++p) {
    for (int64_t q = 0; q < 16; ++q) {
      uint32_t word = 0;
      if (q < rows) __builtin_memcpy(&word, from + q * row_bytes + p * 4, 4);
      y[p * 16 + q] = word;
    }
  }
}

}  // namespace tandem::cpu::TANDEM_SIMD
