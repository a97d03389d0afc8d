#pragma once
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/elementwise_forms-inl.h"

namespace tandem {

namespace detail {

/// Density of the standard normal distribution.
inline Tensor normal_density(const Tensor& x) { return mul(exp(mul(mul(x, x), -0.5)), 1 / std::sqrt(2 * M_PI)); }

/// Derivative of gelu's tanh form, in differentiable ops; see gelu() for the formula.
inline Tensor gelu_tanh_derivative(const Tensor& gy, const Tensor& x) {
  constexpr double c = 0.7978845608028654, k = 0.044715;  // sqrt(2 / pi)
  const Tensor t = tanh(mul(add(x, mul(pow(x, 3), k)), c));
  const Tensor inner = mul(add(mul(square(x), 3 * k), 1), c);
  const Tensor slope = add(mul(add(t, 1), 0.5), mul(mul(x, 0.5), mul(rsub(square(t), 1), inner)));
  return mul(gy, slope);
}

}  // namespace detail

TANDEM_OPS Tensor relu_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op(Op<"relu_backward">(), gy, y, relu_backward,
                               [](const Tensor&, const Tensor&, const Tensor&) { return Tensor(); });
}

TANDEM_OPS Tensor sigmoid_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op(
      Op<"sigmoid_backward">(), gy, y, sigmoid_backward,
      [](const Tensor& ggx, const Tensor& gy, const Tensor& y) { return mul(mul(ggx, gy), add(mul(y, -2), 1)); });
}

TANDEM_OPS Tensor tanh_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op(
      Op<"tanh_backward">(), gy, y, tanh_backward,
      [](const Tensor& ggx, const Tensor& gy, const Tensor& y) { return mul(mul(ggx, gy), mul(y, -2)); });
}

TANDEM_OPS Tensor gelu(const Tensor& x, const std::string& approximate) {
  const Op<"gelu"> op;
  TANDEM_CHECK(approximate == "none" || approximate == "tanh", StateError,
               "approximate must be \"none\" or \"tanh\", not \"{}\"", approximate);
  if (approximate == "none") return detail::unary_op(op, x, detail::Keep::input, gelu_backward);
  return detail::unary_op(op, Unary::gelu_tanh, x, detail::Keep::input, [](const Tensor& gy, const Tensor& x) {
    if (GradMode::is_enabled()) return detail::gelu_tanh_derivative(gy, x);
    return detail::binary_kernel(Binary::gelu_tanh_backward, gy, x, gy.dtype());
  });
}
TANDEM_OPS Tensor gelu_backward(const Tensor& gy, const Tensor& x) {
  return detail::derivative_op(Op<"gelu_backward">(), gy, x, gelu_backward,
                               [](const Tensor& ggx, const Tensor& gy, const Tensor& x) {
                                 return mul(mul(ggx, gy), mul(detail::normal_density(x), rsub(square(x), 2)));
                               });
}

}  // namespace tandem
