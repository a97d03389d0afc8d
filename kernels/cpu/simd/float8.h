#pragma once
// Table of casts of f32 to float8.
#include "kernels/cpu/simd/dispatch.h"
#include "tandem/base/float8.h"

namespace tandem::cpu {

/// A format's casts. y_i = x_i scale, rounded.
struct Float8Casts {
  void (*nearest)(uint8_t* y, const float* x, int64_t n, float scale, Float8Overflow overflow);
  /// Element i is rounded by lane i.
  void (*stochastic)(uint8_t* y, const float* x, const uint32_t* lanes, int64_t n, float scale,
                     Float8Overflow overflow);
};

struct Float8Table {
  Float8Casts e4m3fn, e5m2;
  /// The bits of the largest |x|; those of a NaN are the largest.
  uint32_t (*amax)(const float* x, int64_t n);
};
TANDEM_SIMD_TABLE(Float8Table, float8_table)

}  // namespace tandem::cpu
