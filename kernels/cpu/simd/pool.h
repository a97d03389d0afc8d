#pragma once
// The row functions of pooling, for f32 and f64. A row is one row of an image: positions of `lanes` values each (all
// channels if channels are innermost, else 1).
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"
#include "tandem/base/macros.h"

namespace tandem::cpu {

/// The taps that map a row of `in` positions to a row of `out` positions: tap k of output o is input o stride + k
/// dilation - padding.
struct PoolTaps {
  int64_t in, out, lanes, kernel, stride, padding, dilation;
};

/// The first tap of a window starting at input `from` that is not before the image; it may be beyond the window.
TANDEM_MATH int64_t first_tap(int64_t from, int64_t dilation) { return from >= 0 ? 0 : (-from - 1) / dilation + 1; }
/// One past the last tap of the window that is not beyond the image of `in` positions.
TANDEM_MATH int64_t end_tap(int64_t from, int64_t in, int64_t kernel, int64_t dilation) {
  const int64_t end = from >= in ? 0 : (in - 1 - from) / dilation + 1;
  return end < kernel ? end : kernel;
}

/// The windows of a row's outputs: output o averages inputs [begin[o], end[o]).
struct PoolWindows {
  int64_t out, lanes;
  const int64_t* begin;
  const int64_t* end;
};

/// Cells are tap numbers, counted from `first` in this row; -1 means none.
template <class T>
struct PoolRows {
  /// best = -inf, cell = each output's first tap inside this row.
  void (*start)(T* best, T* cell, const PoolTaps& taps, T first);
  /// best = max(best, x), cell = the tap of the maximum. The first of equal values stays; NaN is the largest.
  void (*max)(T* best, T* cell, const T* x, const PoolTaps& taps, T first);
  /// y = x at the cells in this row.
  void (*pick)(T* y, const T* x, const T* cell, const PoolTaps& taps, T first);
  /// gx += gy at the cells in this row.
  void (*scatter)(T* gx, const T* gy, const T* cell, const PoolTaps& taps, T first);
  /// y += sums of x over the windows.
  void (*sum)(T* y, const T* x, const PoolWindows& windows);
  /// gx += gy at every position of its window.
  void (*spread)(T* gx, const T* gy, const PoolWindows& windows);
  /// y[o] = x[o] / divisor[o].
  void (*divide)(T* y, const T* x, const T* divisor, int64_t out, int64_t lanes);
};

struct PoolTable {
  PoolRows<float> f32;
  PoolRows<double> f64;

  template <class T>
  const PoolRows<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};
TANDEM_SIMD_TABLE(PoolTable, pool_table)

}  // namespace tandem::cpu
