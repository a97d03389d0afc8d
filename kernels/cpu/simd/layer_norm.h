#pragma once
// The row functions of layer_norm, for f32 and f64.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

template <class T>
struct LayerNormRows {
  /// Mean and biased variance in two passes, of which the second corrects the first. Sums of blocks are added up in
  /// f64.
  void (*moments)(const T* x, int64_t n, double* mean, double* variance);
  double (*mean_square)(const T* x, int64_t n);
  /// y = (x - mean) rstd weight + bias.
  void (*normalise)(T* y, const T* x, const T* weight, const T* bias, int64_t n, T mean, T rstd);
  /// gx, with g = gy weight: rstd (g - mean(g) - xhat mean(g xhat)), without mean(g) if the rows are not `centred`.
  void (*backward)(T* gx, const T* gy, const T* x, const T* weight, int64_t n, T mean, T rstd, bool centred);
  /// gweight += gy xhat, gbias += gy.
  void (*add_columns)(T* gweight, T* gbias, const T* gy, const T* x, int64_t n, T mean, T rstd);
};

struct LayerNormTable {
  LayerNormRows<float> f32;
  LayerNormRows<double> f64;

  template <class T>
  const LayerNormRows<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};
TANDEM_SIMD_TABLE(LayerNormTable, layer_norm_table)

}  // namespace tandem::cpu
