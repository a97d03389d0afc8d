#pragma once
// Table of matrix products on blocks of f32 or f64 that fit the caches of a core, for kernels that multiply in the
// middle of other work. Whole products run in oneDNN (kernels/cpu/gemm.cpp).
//
// The right operand is in panels of 16 columns, [n / 16][k][16], so that it is read in order; the other matrices are in
// rows.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Columns of a panel. Rows of blocks are padded to a multiple of this number.
inline constexpr int64_t kPanel = 16;
constexpr int64_t padded_to_panels(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

template <class T>
struct ProductTable {
  /// c = a b, or c += a b. a: m x k with the given strides, b: k x n in panels, c: m x n in rows of c_row elements; n
  /// is padded.
  void (*multiply)(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m, int64_t n,
                   int64_t k, bool accumulate);
  /// Packs k rows of n elements as panels, with zeros as padding.
  void (*pack)(T* panels, const T* x, int64_t row, int64_t k, int64_t n);
  /// Packs the transpose of n rows of k elements as panels, with zeros as padding.
  void (*pack_transposed)(T* panels, const T* x, int64_t row, int64_t n, int64_t k);
};

struct ProductTables {
  ProductTable<float> f32;
  ProductTable<double> f64;

  template <class T>
  const ProductTable<T>& of() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};
TANDEM_SIMD_TABLE(ProductTables, product_tables)

}  // namespace tandem::cpu
