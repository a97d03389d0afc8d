#pragma once
#include <algorithm>
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/index.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/softmax.h"

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

TANDEM_OPS Tensor softplus(const Tensor& x, Scalar beta, Scalar threshold) {
  const Op<"softplus"> op;
  const double b = beta.to_double(), limit = threshold.to_double();
  TANDEM_CHECK(b != 0, StateError, "beta is 0; give another number");
  return detail::unary_op(
      op, x, detail::Keep::input,
      [b, limit](const Tensor& g, const Tensor& x) {
        const Tensor z = b == 1 ? x : mul(x, b), gx = mul(g, sigmoid(z));
        // Above the default threshold, sigmoid rounds to 1 anyway, except in f64.
        return limit >= 20 && x.dtype() != kDouble ? gx : where(gt(z, limit), g, gx);
      },
      b, limit);
}

// ---- activations whose derivative is one kernel, unless it is to be differentiated

namespace detail {

/// gx = kernel(gy, x; alpha), or `composed` from ops while grad mode is on.
template <class F>
auto fused_derivative(Binary kernel, F composed, double alpha = 1) {
  return [=](const Tensor& g, const Tensor& x) {
    return GradMode::is_enabled() ? composed(g, x) : binary_kernel(kernel, g, x, g.dtype(), alpha);
  };
}

inline Tensor zero_beside(const Tensor& g) { return zeros({}, g.options()); }

}  // namespace detail

TANDEM_OPS Tensor silu(const Tensor& x) {
  return detail::unary_op(Op<"silu">(), x, detail::Keep::input,
                          detail::fused_derivative(Binary::silu_backward, [](const Tensor& g, const Tensor& x) {
                            const Tensor s = sigmoid(x);
                            return mul(mul(g, s), add(mul(x, rsub(s, 1)), 1));
                          }));
}
TANDEM_OPS Tensor mish(const Tensor& x) {
  return detail::unary_op(Op<"mish">(), x, detail::Keep::input,
                          detail::fused_derivative(Binary::mish_backward, [](const Tensor& g, const Tensor& x) {
                            const Tensor t = tanh(softplus(x));
                            return mul(g, add(t, mul(mul(x, sigmoid(x)), rsub(mul(t, t), 1))));
                          }));
}
TANDEM_OPS Tensor hardswish(const Tensor& x) {
  return detail::unary_op(Op<"hardswish">(), x, detail::Keep::input,
                          detail::fused_derivative(Binary::hardswish_backward, [](const Tensor& g, const Tensor& x) {
                            const Tensor inner = where(lt(x, 3), mul(g, add(div(x, 3), 0.5)), g);
                            return where(le(x, -3), detail::zero_beside(g), inner);
                          }));
}
TANDEM_OPS Tensor leaky_relu(const Tensor& x, Scalar negative_slope) {
  const double slope = negative_slope.to_double();
  return detail::unary_op(
      Op<"leaky_relu">(), x, detail::Keep::input,
      detail::fused_derivative(
          Binary::leaky_relu_backward,
          [slope](const Tensor& g, const Tensor& x) { return where(gt(x, 0), g, mul(g, slope)); }, slope),
      slope);
}

namespace detail {

/// x, and 0 where it is positive, for exp in a branch that is not taken there: a derivative of 0 times infinity would
/// be NaN.
inline Tensor not_positive(const Tensor& x) { return where(le(x, 0), x, 0); }

}  // namespace detail

TANDEM_OPS Tensor elu(const Tensor& x, Scalar alpha, Scalar scale, Scalar input_scale) {
  const Op<"elu"> op;
  const double a = alpha.to_double(), s = input_scale.to_double();
  const auto composed = [a, s](const Tensor& g, const Tensor& x) {
    return where(le(x, 0), mul(mul(g, exp(mul(detail::not_positive(x), s))), a * s), g);
  };
  const Tensor y = s == 1 ? detail::unary_op(op, x, detail::Keep::input,
                                             detail::fused_derivative(Binary::elu_backward, composed, a), a, 1)
                          : detail::unary_op(op, x, detail::Keep::input, composed, a, s);
  return scale.to_double() == 1 ? y : mul(y, scale);
}
TANDEM_OPS Tensor celu(const Tensor& x, Scalar alpha) {
  const Op<"celu"> op;
  const double a = alpha.to_double();
  TANDEM_CHECK(a != 0, StateError, "alpha is 0; give another number");
  return detail::unary_op(op, Unary::elu, x, detail::Keep::input,
                          detail::fused_derivative(
                              Binary::celu_backward,
                              [a](const Tensor& g, const Tensor& x) {
                                return where(le(x, 0), mul(g, exp(div(detail::not_positive(x), a))), g);
                              },
                              a),
                          a, 1 / a);
}
TANDEM_OPS Tensor selu(const Tensor& x) {
  return detail::unary_op(Op<"selu">(), x, detail::Keep::input, [](const Tensor& g, const Tensor& x) {
    const Tensor scaled = mul(g, math::kSeluScale);
    if (!GradMode::is_enabled()) {
      return detail::binary_kernel(Binary::elu_backward, scaled, x, g.dtype(), math::kSeluAlpha);
    }
    return where(le(x, 0), mul(mul(scaled, exp(detail::not_positive(x))), math::kSeluAlpha), scaled);
  });
}

TANDEM_OPS Tensor prelu(const Tensor& x, const Tensor& weight) {
  const Op<"prelu"> op;
  checks::floating("the input", x);
  checks::floating("the weight", weight);
  const int64_t channels = x.dim() < 2 ? 1 : x.size(1);
  TANDEM_CHECK(weight.dim() <= 1 && (weight.numel() == 1 || weight.numel() == channels), ShapeError,
               "the weight is {}, the input {}; the weight must have 1 element, or {}: one per channel",
               checks::show(weight), checks::show(x), channels);
  return op.apply(
      [](const Tensor& x, const Tensor& weight) {
        Dims sizes(static_cast<size_t>(std::max<int64_t>(x.dim(), 0)), 1);
        if (weight.numel() != 1) sizes[1] = weight.numel();
        const Tensor w = weight.reshape(sizes);
        Tensor y = detail::binary_kernel(Binary::prelu, x, w, result_type(x, w));
        return Result{y, save(x, weight), [sizes, shape = weight.impl().sizes](const Backward& b) {
                        const Tensor x = b.saved(0), right = gt(x, 0), zero = detail::zero_beside(b.grad());
                        Grads grads(2);
                        if (b.needs(0)) {
                          grads[0] = where(right, b.grad(), mul(b.grad(), b.saved(1).reshape(sizes)));
                        }
                        if (b.needs(1)) {
                          const Tensor g = where(right, zero, mul(b.grad(), x));
                          grads[1] = detail::reduce_to(g, sizes).reshape(shape);
                        }
                        return grads;
                      }};
      },
      x, weight);
}

TANDEM_OPS Tensor rrelu(const Tensor& x, Scalar lower, Scalar upper, bool training,
                        std::optional<Generator> generator) {
  const OpScope op("rrelu");
  checks::floating("the input", x);
  const double low = lower.to_double(), high = upper.to_double();
  TANDEM_CHECK(low <= high && std::isfinite(low) && std::isfinite(high), StateError,
               "the slopes are between {} and {}; both must be finite, and the first not above the second", low, high);
  if (!training || low == high) return leaky_relu(x, (low + high) / 2);
  const Tensor slope = empty_like(x.detach());
  slope.uniform_(low, high, std::move(generator));
  return where(gt(x, 0), x, mul(x, slope));
}

// ---- activations with bounds

TANDEM_OPS Tensor hardtanh(const Tensor& x, Scalar min_val, Scalar max_val) {
  const Op<"hardtanh"> op;
  checks::defined("the input", x);
  const double low = min_val.to_double(), high = max_val.to_double();
  TANDEM_CHECK(x.is_floating_point() || (!min_val.is_floating_point() && !max_val.is_floating_point()), DTypeError,
               "the bounds are {} and {}, but the input is {}; use integer bounds, or .to(kFloat)", low, high,
               checks::show(x));
  return detail::unary_op(
      op, Unary::clamp, x, detail::Keep::input,
      [low, high](const Tensor& g, const Tensor& x) {
        return where(logical_or(le(x, low), ge(x, high)), detail::zero_beside(g), g);
      },
      low, high);
}
TANDEM_OPS Tensor relu6(const Tensor& x) {
  const OpScope op("relu6");
  return hardtanh(x, 0, 6);
}
TANDEM_OPS Tensor hardsigmoid(const Tensor& x) {
  return detail::unary_op(Op<"hardsigmoid">(), x, detail::Keep::input, [](const Tensor& g, const Tensor& x) {
    return where(logical_and(gt(x, -3), lt(x, 3)), div(g, 6), detail::zero_beside(g));
  });
}
TANDEM_OPS Tensor hardshrink(const Tensor& x, Scalar lambda) {
  const double bound = lambda.to_double();
  return detail::unary_op(
      Op<"hardshrink">(), x, detail::Keep::input,
      [bound](const Tensor& g, const Tensor& x) {
        return where(logical_and(ge(x, -bound), le(x, bound)), detail::zero_beside(g), g);
      },
      bound);
}
TANDEM_OPS Tensor softshrink(const Tensor& x, Scalar lambda) {
  const Op<"softshrink"> op;
  const double bound = lambda.to_double();
  checks::not_negative("lambda", bound);
  return detail::unary_op(
      op, x, detail::Keep::input,
      [bound](const Tensor& g, const Tensor& x) {
        return where(logical_and(ge(x, -bound), le(x, bound)), detail::zero_beside(g), g);
      },
      bound);
}
TANDEM_OPS Tensor threshold(const Tensor& x, Scalar threshold, Scalar value) {
  const Op<"threshold"> op;
  const double bound = threshold.to_double();
  TANDEM_CHECK(!x.defined() || x.is_floating_point() || (!threshold.is_floating_point() && !value.is_floating_point()),
               DTypeError, "the numbers are {} and {}, but the input is {}; use integers, or .to(kFloat)", bound,
               value.to_double(), checks::show(x));
  return detail::unary_op(
      op, x, detail::Keep::input,
      [bound](const Tensor& g, const Tensor& x) { return where(le(x, bound), detail::zero_beside(g), g); }, bound,
      value.to_double());
}

// ---- activations along a dimension

TANDEM_OPS Tensor glu(const Tensor& x, int64_t dim) {
  const OpScope op("glu");
  checks::floating("the input", x);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(x.dim() > 0 && x.size(d) % 2 == 0, ShapeError,
               "dimension {} of {} is split into halves; its size must be even", d, checks::show(x));
  const int64_t half = x.size(d) / 2;
  // Factors of the gradients may overflow 16 bits.
  if (is_reduced_floating_point(x.dtype())) return to(glu(to(x, kFloat), d), x.dtype());
  return mul(x.narrow(d, 0, half), sigmoid(x.narrow(d, half, half)));
}
TANDEM_OPS Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const OpScope op("softmin");
  checks::defined("the input", x);
  return softmax(neg(x), dim, dtype);
}
TANDEM_OPS Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim) {
  const OpScope op("gumbel_softmax");
  checks::floating("the logits", logits);
  TANDEM_CHECK(tau > 0, StateError, "tau is {}, but must be positive", tau);
  const int64_t d = wrap_dim(dim, logits.dim());
  Tensor noise;
  {
    NoGradGuard no_grad;
    amp::AutocastOff no_autocast;
    // -log(E) of exponential numbers E, with E > 0; in f32 or f64, so that f16 does not round them to 0.
    const DType wide = checks::sum_dtype(logits.dtype());
    noise = empty_like(logits, wide);
    noise.uniform_(0x1p-24, 1);
    noise = to(neg(log(neg(log(noise)))), logits.dtype());
  }
  const Tensor soft = softmax(div(add(logits, noise), tau), d);
  if (!hard) return soft;
  const Tensor index = argmax(soft, d, true);
  const Tensor one_hot = scatter_add(zeros_like(soft.detach()), d, index, ones_like(index, soft.dtype()));
  return add(sub(one_hot, soft.detach()), soft);
}

}  // namespace tandem
