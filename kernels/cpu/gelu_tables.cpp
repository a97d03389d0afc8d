#include "kernels/cpu/gelu_tables.h"

#include <cmath>
#include <numbers>

namespace tandem::cpu {
namespace {

constexpr double kEnd = 6;  // 1 - Phi(6) is 1e-9; phi(6) 6 is 4e-8

double half_cdf(double x) { return 0.5 * std::erf(x / std::numbers::sqrt2); }

double half_slope(double x) {
  return half_cdf(x) + x * std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

}  // namespace

const PiecewisePolynomial& normal_cdf_table() {
  static const PiecewisePolynomial table(half_cdf, kEnd);
  return table;
}

const PiecewisePolynomial& gelu_slope_table() {
  static const PiecewisePolynomial table(half_slope, kEnd);
  return table;
}

}  // namespace tandem::cpu
