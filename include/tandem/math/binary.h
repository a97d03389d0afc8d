#pragma once
// The binary formulas: a functor for each name in TANDEM_BINARY_OPS (backend.h), y = f(a, b; alpha), for float, double
// and, where it makes sense, int64. A functor that returns bool is a predicate.
#include "tandem/math/unary.h"

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA)                                                          \
  struct NAME {                                                                                                   \
    template <class T>                                                                                            \
    requires(CONDITION) TANDEM_MATH auto operator()(T A, T B, [[maybe_unused]] T alpha) const { return FORMULA; } \
  };
// NOLINTEND(bugprone-macro-parentheses)
#define TANDEM_BINARY(NAME, FORMULA) TANDEM_BINARY_IF(true, NAME, a, b, FORMULA)
#define TANDEM_BINARY_FLOATING(NAME, A, B, FORMULA) TANDEM_BINARY_IF(std::floating_point<T>, NAME, A, B, FORMULA)

namespace tandem::math {

/// d gelu / dx: Phi(x) + x phi(x).
template <class T>
TANDEM_MATH T gelu_slope(T x) {
  const T cdf = T(0.5) * (T(1) + erf(x * T(0.70710678118654752440)));
  const T pdf = T(0.39894228040143267794) * exp(T(-0.5) * x * x);
  return cdf + x * pdf;
}

/// d gelu_tanh / dx.
template <class T>
TANDEM_MATH T gelu_tanh_slope(T x) {
  const T t = tanh(gelu_tanh_argument(x));
  const T inner_slope = T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner_slope;
}

/// -(t log p + (1 - t) log(1 - p)), each logarithm at least -100. Source: torch.nn.functional.binary_cross_entropy.
template <class T>
TANDEM_MATH T binary_cross_entropy(T p, T t) {
  const T log_p = maximum(log(p), T(-100)), log_q = maximum(log1p(-p), T(-100));
  return (t - T(1)) * log_q - t * log_p;
}

}  // namespace tandem::math

namespace tandem::math::binary {

TANDEM_BINARY(add, math::add(a, math::mul(alpha, b)))
TANDEM_BINARY(sub, math::sub(a, math::mul(alpha, b)))
TANDEM_BINARY(mul, math::mul(a, b))
TANDEM_BINARY_FLOATING(div, a, b, a / b)
TANDEM_BINARY(pow, math::pow(a, b))
TANDEM_BINARY(maximum, math::maximum(a, b))
TANDEM_BINARY(minimum, math::minimum(a, b))
TANDEM_BINARY(eq, a == b)
TANDEM_BINARY(ne, a != b)
TANDEM_BINARY(lt, a < b)
TANDEM_BINARY(le, a <= b)
TANDEM_BINARY(gt, a > b)
TANDEM_BINARY(ge, a >= b)
TANDEM_BINARY(logical_and, bool((a != T(0)) & (b != T(0))))
TANDEM_BINARY(logical_or, bool((a != T(0)) | (b != T(0))))
TANDEM_BINARY(logical_xor, (a != T(0)) != (b != T(0)))
TANDEM_BINARY(relu_backward, b <= T(0) ? T(0) : a)  // the gradient passes if b is NaN, as in PyTorch
TANDEM_BINARY_FLOATING(sigmoid_backward, gy, y, gy*(T(1) - y) * y)
TANDEM_BINARY_FLOATING(tanh_backward, gy, y, gy*(T(1) - y * y))
TANDEM_BINARY_FLOATING(gelu_backward, gy, x, gy* math::gelu_slope(x))
TANDEM_BINARY_FLOATING(gelu_tanh_backward, gy, x, gy* math::gelu_tanh_slope(x))
TANDEM_BINARY(squared_difference, math::mul(math::sub(a, b), math::sub(a, b)))
TANDEM_BINARY_FLOATING(bce_with_logits, x, t, math::maximum(x, T(0)) - x * t + math::log1p_exp_neg_abs(x))
TANDEM_BINARY_FLOATING(binary_cross_entropy, p, t, math::binary_cross_entropy(p, t))
TANDEM_BINARY_FLOATING(binary_cross_entropy_backward, p, t, (p - t) / math::maximum((T(1) - p) * p, T(1e-12)))
TANDEM_BINARY_FLOATING(atan2, a, b, math::atan2(a, b))

}  // namespace tandem::math::binary

#undef TANDEM_BINARY
#undef TANDEM_BINARY_FLOATING
#undef TANDEM_BINARY_IF
