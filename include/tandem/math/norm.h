#pragma once
// Formulas of layer and batch normalisation for one element: xhat = (x - mean) rstd.
#include <cmath>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// 1 / sqrt(variance + eps).
TANDEM_MATH float rstd_of(float variance, float eps) { return 1.0f / ::sqrtf(variance + eps); }
TANDEM_MATH double rstd_of(double variance, double eps) { return 1.0 / ::sqrt(variance + eps); }

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
