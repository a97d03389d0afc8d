#pragma once
// The unary formulas: a functor for each name in TANDEM_UNARY_OPS (backend.h), y = f(x; a, b), for float, double and,
// where it makes sense, int64. A functor that returns bool is a predicate.
#include <concepts>

#include "tandem/math/approx.h"
#include "tandem/math/power.h"
#include "tandem/math/trig.h"

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)                                                            \
  struct NAME {                                                                                              \
    template <class T>                                                                                       \
    requires(CONDITION) TANDEM_MATH auto operator()(T x, [[maybe_unused]] T a, [[maybe_unused]] T b) const { \
      return FORMULA;                                                                                        \
    }                                                                                                        \
  };
// NOLINTEND(bugprone-macro-parentheses)
#define TANDEM_UNARY(NAME, FORMULA) TANDEM_UNARY_IF(true, NAME, FORMULA)
#define TANDEM_UNARY_FLOATING(NAME, FORMULA) TANDEM_UNARY_IF(std::floating_point<T>, NAME, FORMULA)

namespace tandem::math {

/// x / 2 (1 + erf(x / sqrt 2)): x times the standard normal distribution function.
template <class T>
TANDEM_MATH T gelu(T x) {
  return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440)));
}

/// The argument of tanh in gelu's tanh form: sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
TANDEM_MATH T gelu_tanh_argument(T x) {
  return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
}

/// -1, 0 or 1; 0 for NaN, as in PyTorch.
template <class T>
TANDEM_MATH T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}

/// max(x, 0); NaN for NaN.
template <class T>
TANDEM_MATH T relu(T x) {
  return x <= T(0) ? T(0) : x;
}

}  // namespace tandem::math

namespace tandem::math::unary {

TANDEM_UNARY(neg, math::neg(x))
TANDEM_UNARY(abs, math::abs(x))
TANDEM_UNARY_FLOATING(exp, math::exp(x))
TANDEM_UNARY_FLOATING(log, math::log(x))
TANDEM_UNARY_FLOATING(sqrt, math::sqrt(x))
TANDEM_UNARY_FLOATING(rsqrt, T(1) / math::sqrt(x))
TANDEM_UNARY_FLOATING(reciprocal, T(1) / x)
TANDEM_UNARY_FLOATING(sigmoid, math::sigmoid(x))
TANDEM_UNARY_FLOATING(tanh, math::tanh(x))
TANDEM_UNARY(relu, math::relu(x))
TANDEM_UNARY_FLOATING(gelu, math::gelu(x))
TANDEM_UNARY_FLOATING(gelu_tanh, T(0.5) * x * (T(1) + math::tanh(math::gelu_tanh_argument(x))))
TANDEM_UNARY(sign, math::sign(x))
TANDEM_UNARY(square, math::mul(x, x))
TANDEM_UNARY_FLOATING(erf, math::erf(x))
TANDEM_UNARY_FLOATING(floor, math::floor(x))
TANDEM_UNARY_FLOATING(ceil, math::ceil(x))
TANDEM_UNARY_FLOATING(round, math::round(x))
TANDEM_UNARY_FLOATING(sin, math::sin(x))
TANDEM_UNARY_FLOATING(cos, math::cos(x))
TANDEM_UNARY_FLOATING(log1p, math::log1p(x))
TANDEM_UNARY_FLOATING(expm1, math::expm1(x))
TANDEM_UNARY(logical_not, x == T(0))
TANDEM_UNARY(isfinite, math::sub(x, x) == T(0))
TANDEM_UNARY(isnan, x != x)
TANDEM_UNARY(isinf, bool((x == x) & (math::sub(x, x) != T(0))))
TANDEM_UNARY(add_scalar, math::add(x, a))
TANDEM_UNARY(mul_scalar, math::mul(x, a))
TANDEM_UNARY_FLOATING(div_scalar, x / a)
TANDEM_UNARY(rsub_scalar, math::sub(a, x))
TANDEM_UNARY_FLOATING(rdiv_scalar, a / x)
TANDEM_UNARY(pow_scalar, math::pow(x, a))
TANDEM_UNARY(rpow_scalar, math::pow(a, x))
TANDEM_UNARY(clamp, math::minimum(math::maximum(x, a), b))
TANDEM_UNARY_FLOATING(softplus, math::maximum(x, T(0)) + math::log1p_exp_neg_abs(x))
TANDEM_UNARY_FLOATING(logsigmoid, math::minimum(x, T(0)) - math::log1p_exp_neg_abs(x))

}  // namespace tandem::math::unary

#undef TANDEM_UNARY
#undef TANDEM_UNARY_FLOATING
#undef TANDEM_UNARY_IF
