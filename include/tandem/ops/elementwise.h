#pragma once
// Element-wise arithmetic and comparisons. Two tensors broadcast against each other, and their dtypes promote by
// PyTorch's rules. An op whose result for integers is not an integer gives f32. Sizes that do not broadcast throw
// ShapeError; an undefined tensor throws StateError.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

// ---- arithmetic
/// a + alpha b
Tensor add(const Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor add(const Tensor& a, Scalar b, Scalar alpha = 1);
/// a - alpha b
Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor sub(const Tensor& a, Scalar b, Scalar alpha = 1);
/// b - a
Tensor rsub(const Tensor& a, Scalar b);
/// a b
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
/// a / b, true division: integers give f32
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b);
/// a^b. Integers stay integers, as in PyTorch.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, Scalar b);
Tensor pow(Scalar a, const Tensor& b);
/// -x
Tensor neg(const Tensor& x);
/// |x|
Tensor abs(const Tensor& x);
/// -1, 0 or 1
Tensor sign(const Tensor& x);
/// 1 / x
Tensor reciprocal(const Tensor& x);
/// x^2
Tensor square(const Tensor& x);
/// The square root; NaN for negative numbers.
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x)
Tensor rsqrt(const Tensor& x);
/// e^x
Tensor exp(const Tensor& x);
/// e^x - 1
Tensor expm1(const Tensor& x);
/// natural logarithm
Tensor log(const Tensor& x);
/// log(1 + x)
Tensor log1p(const Tensor& x);
/// Trigonometric functions of x in radians.
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
Tensor erf(const Tensor& x);
/// The largest integer that is not above x, and the smallest that is not below.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// to the nearest integer, ties to even
Tensor round(const Tensor& x);
/// The angle of the point (x = b, y = a)
Tensor atan2(const Tensor& a, const Tensor& b);
/// min(max(x, min), max); one of the bounds may be omitted. The gradient is passed only strictly between the bounds, as
/// in PyTorch 2.15.
Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
/// NaN if either operand is NaN. Where the operands are equal, each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
/// Aliases of maximum and minimum, as in libtorch.
inline Tensor max(const Tensor& a, const Tensor& b) { return maximum(a, b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return minimum(a, b); }
/// condition ? a : b; condition is bool
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);

// ---- comparisons and tests: bool results, no gradient
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Scalar b);
Tensor ne(const Tensor& a, Scalar b);
Tensor lt(const Tensor& a, Scalar b);
Tensor le(const Tensor& a, Scalar b);
Tensor gt(const Tensor& a, Scalar b);
Tensor ge(const Tensor& a, Scalar b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor isfinite(const Tensor& x);
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);

/// Sums `g` over the dimensions along which `sizes` was broadcast to g's sizes. The result has `sizes`.
Tensor sum_to_size(const Tensor& g, IntArrayRef sizes);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
Tensor operator/(Scalar a, const Tensor& b);
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return ge(a, b); }
inline Tensor operator==(Scalar a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(Scalar a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<(Scalar a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(Scalar a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(Scalar a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(Scalar a, const Tensor& b) { return le(b, a); }

}  // namespace tandem
#pragma GCC visibility pop
