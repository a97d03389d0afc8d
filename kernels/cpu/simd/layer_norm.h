#pragma once
// The row functions of layer_norm, for f32, f64 and bf16.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Rows of T, computed in C. bf16 is passed as its bits.
template <class T, class C>
struct LayerNormRows {
  /// y = a + b. y may be a or b.
  void (*add)(T* y, const T* a, const T* b, int64_t n);
  /// Mean and biased variance in two passes, of which the second corrects the first. Sums of blocks are added up in
  /// f64.
  void (*moments)(const T* x, int64_t n, double* mean, double* variance);
  double (*mean_square)(const T* x, int64_t n);
  /// y = (x - mean) rstd weight + bias.
  void (*normalise)(T* y, const T* x, const T* weight, const T* bias, int64_t n, C mean, C rstd);
  /// gx, with g = gy weight: rstd (g - mean(g) - xhat mean(g xhat)), without mean(g) if the rows are not `centred`.
  void (*backward)(T* gx, const T* gy, const T* x, const T* weight, int64_t n, C mean, C rstd, bool centred);
  /// gweight += gy xhat, gbias += gy, in the order of `position`.
  void (*add_columns)(C* gweight, C* gbias, const T* gy, const T* x, int64_t n, C mean, C rstd);
  /// The column of element i of gweight and gbias.
  int64_t (*position)(int64_t i, int64_t n);
};

struct LayerNormTable {
  LayerNormRows<float, float> f32;
  LayerNormRows<double, double> f64;
  LayerNormRows<uint16_t, float> bf16;
};
TANDEM_SIMD_TABLE(LayerNormTable, layer_norm_table)

}  // namespace tandem::cpu
