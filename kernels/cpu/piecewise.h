#pragma once
// PiecewisePolynomial: a smooth function as a table of polynomials, from which AVX-512 selects coefficients in
// registers (simd/piecewise.h). That costs little more than a polynomial of degree 5, whatever the function.

namespace tandem::cpu {

/// A function of [0, end] in f32. In each of 16 equal intervals it is a polynomial of degree 5 in r, which is -1/2 at
/// the interval's begin and 1/2 at its end.
struct PiecewisePolynomial {
  static constexpr int kIntervals = 16, kCoefficients = 6;

  /// Interpolates f at the Chebyshev nodes of each interval.
  PiecewisePolynomial(double (*f)(double), double end);

  alignas(64) float coefficients[kCoefficients][kIntervals];  ///< coefficients[k]: of r^k
  float end;
};

}  // namespace tandem::cpu
