#pragma once
// Element-wise functions of one number, beyond those of elementwise.h. Integers give f32 unless stated otherwise. An
// undefined tensor throws StateError.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The tangent of x in radians.
Tensor tan(const Tensor& x);
/// NaN outside of [-1, 1], also acos
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
/// The inverse tangent.
Tensor atan(const Tensor& x);
/// Hyperbolic functions and their inverses. acosh is NaN below 1, atanh outside of [-1, 1].
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
/// Logarithms to base 2 and 10.
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
/// 2^x
Tensor exp2(const Tensor& x);
/// 1 - erf(x), accurate also where it is small
Tensor erfc(const Tensor& x);
/// The inverse of erf; infinite at -1 and 1, NaN beyond
Tensor erfinv(const Tensor& x);
/// log|Gamma(x)|
Tensor lgamma(const Tensor& x);
/// The derivative of log Gamma. Its second derivative is not implemented.
Tensor digamma(const Tensor& x);
/// The modified Bessel functions of the first kind of orders 0 and 1: i0' = i1.
Tensor i0(const Tensor& x);
Tensor special_i1(const Tensor& x);
/// sin(pi x) / (pi x), 1 at 0
Tensor sinc(const Tensor& x);
/// log(z / (1 - z)), where z is x, limited to [eps, 1 - eps] if `eps` is given. The gradient is 0 outside of the
/// limits.
Tensor logit(const Tensor& x, std::optional<double> eps = {});
/// Rounds towards 0; integers stay integers.
Tensor trunc(const Tensor& x);
/// x - trunc(x); floating dtypes only
Tensor frac(const Tensor& x);
/// To the nearest multiple of 10^-decimals, ties to even; floating dtypes only
Tensor round(const Tensor& x, int64_t decimals);
/// Degrees to radians
Tensor deg2rad(const Tensor& x);
/// Radians to degrees
Tensor rad2deg(const Tensor& x);
/// Replaces NaN by `nan`, and infinities by `posinf` and `neginf`, by default the largest and smallest number of x's
/// dtype. Integers stay as they are.
Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});
/// x itself; bool throws DTypeError
Tensor positive(const Tensor& x);

// ---- tests: bool results, no gradient
/// True for negative numbers and -0
Tensor signbit(const Tensor& x);
/// Whether x is inf, or -inf.
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);
/// True everywhere: there are no complex numbers.
Tensor isreal(const Tensor& x);

// ---- derivatives, as ops
/// The derivative of digamma
Tensor trigamma(const Tensor& x);

// ---- other names, as in libtorch: arcsin() is asin(), fix() is trunc()
inline Tensor arcsin(const Tensor& x) { return asin(x); }
inline Tensor arccos(const Tensor& x) { return acos(x); }
inline Tensor arctan(const Tensor& x) { return atan(x); }
inline Tensor arcsinh(const Tensor& x) { return asinh(x); }
inline Tensor arccosh(const Tensor& x) { return acosh(x); }
inline Tensor arctanh(const Tensor& x) { return atanh(x); }
inline Tensor fix(const Tensor& x) { return trunc(x); }

}  // namespace tandem
#pragma GCC visibility pop
