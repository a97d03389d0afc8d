#pragma once
// Formulas of layer and batch normalisation for one element: xhat = (x - mean) rstd.
#include <cmath>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// 1 / sqrt(variance + eps).
TANDEM_MATH float rstd_of(float variance, float eps) { return 1.0f / ::sqrtf(variance + eps); }
TANDEM_MATH double rstd_of(double variance, double eps) { return 1.0 / ::sqrt(variance + eps); }

/// Whether f32 holds the squares of deviations of size 1 / rstd, and what is computed from them. Other rows and
/// channels are computed in f64, or scaled.
TANDEM_MATH bool is_in_range_of_f32(double rstd) { return bool((rstd > 0x1p-60) & (rstd < 0x1p60)); }

/// A power of two, between 2^-127 and 2^100, near 1 / x for a positive x.
TANDEM_MATH float inverse_power_of_two(float x) {
  const uint32_t exponent = __builtin_bit_cast(uint32_t, x) >> 23;
  const uint32_t inverse = exponent < 27 ? 227 : 254 - exponent;
  return inverse == 0 ? 0x1p-127f : __builtin_bit_cast(float, inverse << 23);
}
TANDEM_MATH double inverse_power_of_two(double x) { return 1 / x; }

template <class T>
TANDEM_MATH T normalised(T x, T mean, T rstd) {
  return (x - mean) * rstd;
}

/// xhat weight + bias.
template <class T>
TANDEM_MATH T normalised_affine(T x, T mean, T rstd, T weight, T bias) {
  return normalised(x, mean, rstd) * weight + bias;
}

/// gx, with g = gy weight, mean_g = mean(g) and mean_gx = mean(g xhat). The means are over the values that are
/// normalised together.
template <class T>
TANDEM_MATH T normalised_backward(T g, T xhat, T mean_g, T mean_gx, T rstd) {
  return rstd * (g - mean_g - xhat * mean_gx);
}

}  // namespace tandem::math
#pragma GCC visibility pop
