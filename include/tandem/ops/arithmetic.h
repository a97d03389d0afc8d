#pragma once
// More element-wise arithmetic of two tensors, or of a tensor and a number. Two tensors broadcast against each other,
// and their dtypes promote by PyTorch's rules. Sizes that do not broadcast throw ShapeError; an undefined tensor throws
// StateError. On the CPU, an integer division by zero throws StateError.
#include <concepts>
#include <optional>
#include <string>
#include <tuple>

#include "tandem/ops/elementwise.h"

#pragma GCC visibility push(default)
namespace tandem {

// ---- division. Integers stay integers; bool throws DTypeError.
/// The remainder of a / b rounded towards 0: it has a's sign.
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, Scalar b);
/// The remainder of a / b rounded down: it has b's sign.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, Scalar b);
Tensor remainder(Scalar a, const Tensor& b);
/// a / b, rounded down. Not differentiable, as in PyTorch; div(a, b, "floor") has a gradient of 0.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, Scalar b);
/// a / b. rounding_mode "trunc" rounds towards 0, "floor" rounds down; both keep integers. Without one, true division.
Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string> rounding_mode);
Tensor div(const Tensor& a, Scalar b, std::optional<std::string> rounding_mode);

// ---- functions of two numbers
/// sqrt(a^2 + b^2) without overflow; integers give f32
Tensor hypot(const Tensor& a, const Tensor& b);
/// The larger number; if one of them is NaN, the other. Where they are equal, each gets half of the gradient.
Tensor fmax(const Tensor& a, const Tensor& b);
/// The smaller number; if one of them is NaN, the other.
Tensor fmin(const Tensor& a, const Tensor& b);
/// |a| with the sign of b; integers give f32
Tensor copysign(const Tensor& a, const Tensor& b);
Tensor copysign(const Tensor& a, Scalar b);
/// The number of the result's dtype that is next to a in the direction of b. Floating dtypes. The gradient goes to a,
/// where a != b.
Tensor nextafter(const Tensor& a, const Tensor& b);
/// log(e^a + e^b)
Tensor logaddexp(const Tensor& a, const Tensor& b);
/// log2(2^a + 2^b)
Tensor logaddexp2(const Tensor& a, const Tensor& b);
/// a log(b), 0 if a is 0; integers give f32
Tensor xlogy(const Tensor& a, const Tensor& b);
Tensor xlogy(Scalar a, const Tensor& b);
Tensor xlogy(const Tensor& a, Scalar b);
/// 0 for x < 0, 1 for x > 0, `values` for x = 0. Both must have one dtype. Not differentiable.
Tensor heaviside(const Tensor& x, const Tensor& values);
/// x 2^exponent
Tensor ldexp(const Tensor& x, const Tensor& exponent);
/// The mantissa, of x's dtype with a size in [0.5, 1), and the exponent, i32: x = mantissa 2^exponent. 0, infinities
/// and NaN are their own mantissa, with the exponent 0. Floating dtypes.
std::tuple<Tensor, Tensor> frexp(const Tensor& x);
/// a^b in f64
Tensor float_power(const Tensor& a, const Tensor& b);
Tensor float_power(const Tensor& a, Scalar b);
Tensor float_power(Scalar a, const Tensor& b);
/// b - alpha a
Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor rsub(const Tensor& a, Scalar b, Scalar alpha);
/// Greatest common divisor and least common multiple, not negative; integers only
Tensor gcd(const Tensor& a, const Tensor& b);
Tensor lcm(const Tensor& a, const Tensor& b);

// ---- bounds
/// min(max(x, min), max) with bounds that broadcast against x; one of them may be absent.
Tensor clamp(const Tensor& x, std::optional<Tensor> min, std::optional<Tensor> max = {});
/// max(x, min), and min(x, max).
Tensor clamp_min(const Tensor& x, Scalar min);
Tensor clamp_min(const Tensor& x, const Tensor& min);
Tensor clamp_max(const Tensor& x, Scalar max);
Tensor clamp_max(const Tensor& x, const Tensor& max);

// ---- bits of integers; bool operands are combined as truth values. Other dtypes throw DTypeError.
Tensor bitwise_not(const Tensor& x);
Tensor bitwise_and(const Tensor& a, const Tensor& b);
Tensor bitwise_and(const Tensor& a, Scalar b);
inline Tensor bitwise_and(Scalar a, const Tensor& b) { return bitwise_and(b, a); }
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_or(const Tensor& a, Scalar b);
inline Tensor bitwise_or(Scalar a, const Tensor& b) { return bitwise_or(b, a); }
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, Scalar b);
inline Tensor bitwise_xor(Scalar a, const Tensor& b) { return bitwise_xor(b, a); }
/// Integers only. A negative count, or one of at least the number of bits, shifts everything out.
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);
Tensor bitwise_left_shift(const Tensor& a, Scalar b);
Tensor bitwise_left_shift(Scalar a, const Tensor& b);
/// Keeps the sign
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);
Tensor bitwise_right_shift(const Tensor& a, Scalar b);
Tensor bitwise_right_shift(Scalar a, const Tensor& b);

// ---- three operands
/// start + weight (end - start). All dtypes must be the same floating dtype.
Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight);
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight);
/// input + value a b
Tensor addcmul(const Tensor& input, const Tensor& a, const Tensor& b, Scalar value = 1);
/// input + value a / b; a and b must not both be integers
Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, Scalar value = 1);

// ---- comparisons of whole tensors
/// |a - b| <= atol + rtol |b|, element by element; infinities are close to themselves. Both must have one dtype.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// True if all elements are close; copies the result to the host.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// True if sizes and all elements are equal; copies the result to the host.
bool equal(const Tensor& a, const Tensor& b);

// ---- other names, as in libtorch: subtract() is sub(), greater() is gt(), clip() is clamp()
inline Tensor absolute(const Tensor& x) { return abs(x); }
inline Tensor negative(const Tensor& x) { return neg(x); }
inline Tensor subtract(const Tensor& a, const Tensor& b, Scalar alpha = 1) { return sub(a, b, alpha); }
inline Tensor subtract(const Tensor& a, Scalar b, Scalar alpha = 1) { return sub(a, b, alpha); }
#define TANDEM_OTHER_NAME(NAME, OP)                                         \
  inline Tensor NAME(const Tensor& a, const Tensor& b) { return OP(a, b); } \
  inline Tensor NAME(const Tensor& a, Scalar b) { return OP(a, b); }
TANDEM_OTHER_NAME(multiply, mul)
TANDEM_OTHER_NAME(divide, div)
TANDEM_OTHER_NAME(true_divide, div)
TANDEM_OTHER_NAME(greater, gt)
TANDEM_OTHER_NAME(greater_equal, ge)
TANDEM_OTHER_NAME(less, lt)
TANDEM_OTHER_NAME(less_equal, le)
TANDEM_OTHER_NAME(not_equal, ne)
#undef TANDEM_OTHER_NAME
inline Tensor divide(const Tensor& a, const Tensor& b, std::optional<std::string> rounding_mode) {
  return div(a, b, std::move(rounding_mode));
}
inline Tensor divide(const Tensor& a, Scalar b, std::optional<std::string> rounding_mode) {
  return div(a, b, std::move(rounding_mode));
}
inline Tensor arctan2(const Tensor& a, const Tensor& b) { return atan2(a, b); }
inline Tensor clip(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return clamp(x, min, max);
}
inline Tensor clip(const Tensor& x, std::optional<Tensor> min, std::optional<Tensor> max = {}) {
  return clamp(x, std::move(min), std::move(max));
}

inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, Scalar b) { return remainder(a, b); }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }
/// Of tensors only: `!x` of a std::optional<Tensor> tells whether it has no value.
template <std::same_as<Tensor> T>
Tensor operator!(const T& x) {
  return logical_not(x);
}
inline Tensor operator&(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor operator&(const Tensor& a, Scalar b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
inline Tensor operator|(const Tensor& a, Scalar b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }
inline Tensor operator^(const Tensor& a, Scalar b) { return bitwise_xor(a, b); }
inline Tensor operator<<(const Tensor& a, const Tensor& b) { return bitwise_left_shift(a, b); }
inline Tensor operator<<(const Tensor& a, Scalar b) { return bitwise_left_shift(a, b); }
inline Tensor operator>>(const Tensor& a, const Tensor& b) { return bitwise_right_shift(a, b); }
inline Tensor operator>>(const Tensor& a, Scalar b) { return bitwise_right_shift(a, b); }

}  // namespace tandem
#pragma GCC visibility pop
