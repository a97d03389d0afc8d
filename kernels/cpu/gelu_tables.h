#pragma once
// The functions behind GELU as tables, for kernels/cpu/simd/gelu.h. They are tabulated for x >= 0 and without their
// values at 0, so that they are odd.
#include "kernels/cpu/piecewise.h"

namespace tandem::cpu {

/// Phi(x) - 1/2, with the standard normal distribution function Phi.
const PiecewisePolynomial& normal_cdf_table();
/// Phi(x) + x phi(x) - 1/2: the derivative of x Phi(x) without its value at 0.
const PiecewisePolynomial& gelu_slope_table();

}  // namespace tandem::cpu
