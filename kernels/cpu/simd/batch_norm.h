#pragma once
// The block functions of batch_norm, for f32 and f64.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Functions over a block of `rows` rows of `n` values. Parameters (mean and so on) and sums have one entry per column
/// if columns are channels, or a single entry if the block belongs to one channel.
template <class T>
struct BatchNormBlocks {
  /// sum += x.
  void (*sum)(T* sum, const T* x, int64_t rows, int64_t n);
  /// sum += x - centre, squares += (x - centre)^2.
  void (*deviations)(T* sum, T* squares, const T* x, const T* centre, int64_t rows, int64_t n);
  /// y = (x - mean) rstd weight + bias.
  void (*normalise)(T* y, const T* x, const T* mean, const T* rstd, const T* weight, const T* bias, int64_t rows,
                    int64_t n);
  /// sum_g += gy, sum_gx += gy xhat.
  void (*gradient_sums)(T* sum_g, T* sum_gx, const T* gy, const T* x, const T* mean, const T* rstd, int64_t rows,
                        int64_t n);
  /// gx = rstd weight (gy - mean_g - xhat mean_gx).
  void (*backward)(T* gx, const T* gy, const T* x, const T* mean, const T* rstd, const T* weight, const T* mean_g,
                   const T* mean_gx, int64_t rows, int64_t n);
};

struct BatchNormTable {
  BatchNormBlocks<float> columns_f32, single_f32;
  BatchNormBlocks<double> columns_f64, single_f64;

  /// The functions for blocks whose columns are channels, or for blocks of one channel.
  template <class T>
  const BatchNormBlocks<T>& of(bool columns) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return columns ? columns_f32 : single_f32;
    } else {
      return columns ? columns_f64 : single_f64;
    }
  }
};
TANDEM_SIMD_TABLE(BatchNormTable, batch_norm_table)

}  // namespace tandem::cpu
