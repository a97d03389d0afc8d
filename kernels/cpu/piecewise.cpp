#include "kernels/cpu/piecewise.h"

#include <array>
#include <cmath>
#include <numbers>

namespace tandem::cpu {

PiecewisePolynomial::PiecewisePolynomial(double (*f)(double), double end) : end(static_cast<float>(end)) {
  constexpr int n = kCoefficients;
  std::array<double, n> nodes;
  for (int k = 0; k < n; ++k) nodes[k] = 0.5 * std::cos(std::numbers::pi * (k + 0.5) / n);
  for (int i = 0; i < kIntervals; ++i) {
    std::array<double, n> differences;  // Newton's divided differences
    for (int k = 0; k < n; ++k) differences[k] = f((i + 0.5 + nodes[k]) * end / kIntervals);
    for (int order = 1; order < n; ++order) {
      for (int k = n - 1; k >= order; --k) {
        differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - order]);
      }
    }
    std::array<double, n> powers{};  // Newton's form, multiplied out by Horner's rule
    for (int k = n - 1; k >= 0; --k) {
      for (int j = n - 1; j > 0; --j) powers[j] = powers[j - 1] - nodes[k] * powers[j];
      powers[0] = differences[k] - nodes[k] * powers[0];
    }
    for (int k = 0; k < n; ++k) coefficients[k][i] = static_cast<float>(powers[k]);
  }
}

}  // namespace tandem::cpu
