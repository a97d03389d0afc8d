#pragma once
// Table of the steps of attention (kernels/cpu/attention.cpp) on blocks of f32 or f64.
#include "kernels/cpu/simd/product.h"

namespace tandem::cpu {

template <class T>
struct AttentionTable {
  /// y *= factor
  void (*scale)(T* y, int64_t n, T factor);
  /// The maximum of n >= 1 scores; NaN if there is any.
  T (*max)(const T* s, int64_t n);
  /// s = exp(s - max); returns the sum.
  T (*exp_and_sum)(T* s, int64_t n, T max);
  /// The sum of x y.
  T (*dot)(const T* x, const T* y, int64_t n);
  /// s += mask
  void (*add)(T* s, const T* mask, int64_t n);
  /// s = kept ? s : value
  void (*select)(T* s, const bool* kept, int64_t n, T value);
  /// p = exp(s - max - log_sum), in the place of s; g = p (g - dot)
  void (*softmax_backward)(T* g, T* s, int64_t n, T max, T log_sum, T dot);
};

/// Products of bf16 with f32 sums, for processors that have them; null pointers in tables of other levels. The operands
/// are in words of two elements that are multiplied together: the elements 2 i and 2 i + 1 of the sum's index, the
/// first in the lower half. The right operand is in panels of 16 columns, [n / 16][words][16].
struct AttentionBf16Table {
  /// c = factor a b, or c += a b. a: m rows of `words` words with the given strides, b: n columns, padded.
  void (*multiply)(float* c, int64_t c_row, const uint32_t* a, int64_t a_row, int64_t a_column, const uint32_t* b,
                   int64_t m, int64_t n, int64_t words, float factor, bool accumulate) = nullptr;
  /// Packs k rows of n elements as panels; word i is of the rows 2 i and 2 i + 1. Zeros as padding.
  void (*pack)(uint32_t* panels, const uint16_t* x, int64_t row, int64_t k, int64_t n) = nullptr;
  /// Packs the transpose of n rows of `words` words, which are `row` words apart, as panels.
  void (*pack_transposed)(uint32_t* panels, const uint32_t* x, int64_t row, int64_t n, int64_t words) = nullptr;
  /// y = exp(factor s - max), rounded, for even n; returns the sum before rounding. Weights below 2^-126 are 0.
  float (*exp_and_sum)(uint16_t* y, const float* s, int64_t n, float factor, float max) = nullptr;
  /// y = x, rounded.
  void (*narrow)(uint16_t* y, const float* x, int64_t n) = nullptr;
  /// Words of a_i and b_i, rounded.
  void (*narrow_pairs)(uint32_t* y, const float* a, const float* b, int64_t n) = nullptr;
};

struct AttentionTables {
  AttentionTable<float> f32;
  AttentionTable<double> f64;
  AttentionBf16Table bf16, bf16_on_tiles;
};
TANDEM_SIMD_TABLE(AttentionTables, attention_tables)

}  // namespace tandem::cpu
