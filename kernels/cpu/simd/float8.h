#pragma once
// Table of casts between f32 and float8.
#include "kernels/cpu/simd/dispatch.h"
#include "tandem/base/float8.h"

namespace tandem::cpu {

/// A format's casts. y_i = x_i scale, rounded.
struct Float8Casts {
  void (*nearest)(uint8_t* y, const float* x, int64_t n, float scale, Float8Overflow overflow);
  /// Element i is rounded by lane i.
  void (*stochastic)(uint8_t* y, const float* x, const uint32_t* lanes, int64_t n, float scale,
                     Float8Overflow overflow);
  /// y_i = x_i scale_i, rounded to nearest even; saturates.
  void (*scaled)(uint8_t* y, const float* x, const float* scale, int64_t n);
};

struct Float8Table {
  Float8Casts e4m3fn, e5m2;
  /// The bits of the largest |x|; those of a NaN are the largest.
  uint32_t (*amax)(const float* x, int64_t n);
  /// largest_i = the larger of itself and the bits of |x_i|.
  void (*amax_each)(uint32_t* largest, const float* x, int64_t n);
  /// y_i = x_i factor_i; y may be x.
  void (*multiply)(float* y, const float* x, const float* factor, int64_t n);
};
TANDEM_SIMD_TABLE(Float8Table, float8_table)

}  // namespace tandem::cpu
