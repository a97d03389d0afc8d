#pragma once
// Table of the steps of attention (kernels/cpu/attention.cpp) on blocks of f32 or f64.
//
// The right operand of a product is in panels of 16 columns, [n / 16][k][16], so that it is read in order; the other
// matrices are in rows.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Columns of a panel. Rows of blocks are padded to a multiple of this number.
inline constexpr int64_t kPanel = 16;
constexpr int64_t padded_to_panels(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

template <class T>
struct AttentionTable {
  /// c = a b, or c += a b. a: m x k with the given strides, b: k x n in panels, c: m x n in rows of c_row elements; n
  /// is padded.
  void (*multiply)(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m, int64_t n,
                   int64_t k, bool accumulate);
  /// Packs k rows of n elements as panels, with zeros as padding.
  void (*pack)(T* panels, const T* x, int64_t row, int64_t k, int64_t n);
  /// Packs the transpose of n rows of k elements as panels, with zeros as padding.
  void (*pack_transposed)(T* panels, const T* x, int64_t row, int64_t n, int64_t k);

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
  /// g = p (g - dot)
  void (*softmax_backward)(T* g, const T* p, int64_t n, T dot);
};

struct AttentionTables {
  AttentionTable<float> f32;
  AttentionTable<double> f64;
};
TANDEM_SIMD_TABLE(AttentionTables, attention_tables)

}  // namespace tandem::cpu
