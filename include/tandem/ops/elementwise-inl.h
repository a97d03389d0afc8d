#pragma once
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Which tensor an element-wise derivative needs.
enum class Keep { nothing, input, output };

inline bool has_bool_output(Unary op) {
  return op == Unary::logical_not || op == Unary::isfinite || op == Unary::isnan || op == Unary::isinf;
}

/// y = op(x). `exact_on_integers`: integers stay integers; otherwise they give f32.
/// derivative(gy, kept tensor) -> gx.
template <FixedString Name, class D>
Tensor unary_op(Unary op, const Tensor& x, Keep keep, bool exact_on_integers, D derivative, double a = 0,
                double b = 0) {
  checks::defined(Name.text, "the input", x);
  return apply<Name>(
      [&](const Tensor& x) {
        DType dtype = x.dtype();
        if (has_bool_output(op)) {
          dtype = kBool;
        } else if (!x.is_floating_point() && !exact_on_integers) {
          dtype = kFloat;
        }
        Tensor y = empty_like(x, dtype);
        backend(x).unary(y, op, x, a, b);
        if (has_bool_output(op)) return Result{y};
        Saved saved = keep == Keep::nothing ? Saved{} : save(keep == Keep::input ? x : y);
        return Result{y, std::move(saved), [derivative, keep](const Backward& b) -> Grads {
                        return {derivative(b.grad(), keep == Keep::nothing ? Tensor() : b.saved(0))};
                      }};
      },
      x);
}

/// Runs a binary kernel over broadcast operands into a new tensor of `dtype`.
inline Tensor binary_kernel(const char* name, Binary op, const Tensor& a, const Tensor& b, DType dtype,
                            double alpha = 1) {
  if (a.sizes() == b.sizes()) {
    // A dense layout that is not row-major (channels-last) is kept.
    Tensor y = a.is_contiguous() ? empty(a.sizes(), a.options().dtype(dtype)) : empty_like(a, dtype);
    backend(y).binary(y, op, a, b, alpha);
    return y;
  }
  const Dims sizes = broadcast_shapes(a.sizes(), b.sizes(), name);
  const Tensor& whole = a.sizes() == IntArrayRef(sizes) ? a : b;
  const Device device = a.dim() == 0 && a.is_cpu() ? b.device() : a.device();
  Tensor y = whole.sizes() == IntArrayRef(sizes) ? empty_like(whole, TensorOptions(dtype).device(device))
                                                 : empty(sizes, TensorOptions(dtype).device(device));
  backend(y).binary(y, op, broadcast_view(a, sizes), broadcast_view(b, sizes), alpha);
  return y;
}

/// The dtype of an arithmetic result over a and b: integers give f32 where `floating`.
inline DType arithmetic_dtype(const Tensor& a, const Tensor& b, bool floating = false) {
  const DType t = result_type(a, b);
  return floating && !is_floating_point(t) ? kFloat : t;
}

inline bool is_comparison(Binary op) { return op >= Binary::eq && op <= Binary::logical_xor; }

/// A comparison or logical op: bool output, no gradient.
template <FixedString Name>
Tensor compare_op(Binary op, const Tensor& a, const Tensor& b) {
  checks::defined(Name.text, "the first operand", a);
  checks::defined(Name.text, "the second operand", b);
  return apply<Name>(
      [op](const Tensor& a, const Tensor& b) { return Result{binary_kernel(Name.text, op, a, b, kBool)}; }, a, b);
}

/// A Scalar as a tensor that promotes like one: 0-dim, in the dtype the op would compute in.
inline Tensor scalar_operand(const Tensor& a, Scalar b) { return scalar_tensor(b, TensorOptions(result_type(a, b))); }

/// The gradient for an operand of `sizes` from one of the broadcast result's sizes.
inline Tensor reduce_to(const Tensor& g, const Dims& sizes) {
  return g.sizes() == IntArrayRef(sizes) ? g : sum_to_size(g, sizes);
}

/// add and sub: y = a + sign alpha b.
template <FixedString Name>
Tensor add_sub(const Tensor& a, const Tensor& b, Scalar alpha, Binary op, double sign) {
  checks::defined(Name.text, "the first operand", a);
  checks::defined(Name.text, "the second operand", b);
  TANDEM_CHECK(op == Binary::add || a.dtype() != kBool || b.dtype() != kBool, DTypeError,
               "{}: not defined on two bool tensors; use logical_xor", Name.text);
  return apply<Name>(
      [&](const Tensor& a, const Tensor& b) {
        Tensor y = binary_kernel(Name.text, op, a, b, arithmetic_dtype(a, b), alpha.to_double());
        const double factor = sign * alpha.to_double();
        return Result{y, {}, [factor, sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = reduce_to(g.grad(), sa);
                        if (g.needs(1)) {
                          grads[1] = reduce_to(g.grad(), sb);
                          if (factor != 1) grads[1] = mul(grads[1], factor);
                        }
                        return grads;
                      }};
      },
      a, b);
}

/// An op with one number that keeps the dtype unless the number raises the category.
template <FixedString Name, class D>
Tensor scalar_op(Unary op, const Tensor& x, Scalar number, Keep keep, bool floating, D derivative) {
  checks::defined(Name.text, "the input", x);
  DType dtype = result_type(x, number);
  if (floating && !is_floating_point(dtype)) dtype = kFloat;
  return apply<Name>(
      [&](const Tensor& x) {
        // Under the f32 policy the input arrives widened, and the result follows it.
        Tensor y = empty_like(x, x.is_floating_point() ? x.dtype() : dtype);
        backend(x).unary(y, op, x, number.to_double(), 0);
        Saved saved = keep == Keep::nothing ? Saved{} : save(keep == Keep::input ? x : y);
        return Result{y, std::move(saved), [derivative, keep](const Backward& b) -> Grads {
                        return {derivative(b.grad(), keep == Keep::nothing ? Tensor() : b.saved(0))};
                      }};
      },
      x);
}

inline Tensor no_gradient(const Tensor& gy, const Tensor&) { return zeros_like(gy); }

}  // namespace detail

TANDEM_OPS Tensor sum_to_size(const Tensor& g, IntArrayRef sizes) {
  if (g.sizes() == sizes) return g;
  const size_t lead = static_cast<size_t>(g.dim()) - sizes.size();
  Dims reduced;
  for (size_t d = 0; d < g.sizes().size(); ++d) {
    if (d < lead || (sizes[d - lead] == 1 && g.sizes()[d] != 1)) reduced.push_back(static_cast<int64_t>(d));
  }
  Tensor s = reduced.empty() ? g : sum(g, reduced, true, g.dtype());
  return lead == 0 ? s : view(s, sizes);
}

// ---- arithmetic

TANDEM_OPS Tensor add(const Tensor& a, const Tensor& b, Scalar alpha) {
  return detail::add_sub<"add">(a, b, alpha, Binary::add, 1);
}
TANDEM_OPS Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha) {
  return detail::add_sub<"sub">(a, b, alpha, Binary::sub, -1);
}
TANDEM_OPS Tensor add(const Tensor& a, Scalar b, Scalar alpha) {
  const Scalar term = b.is_floating_point() || alpha.is_floating_point() ? Scalar(b.to_double() * alpha.to_double())
                                                                         : Scalar(b.to_int64() * alpha.to_int64());
  return detail::scalar_op<"add">(Unary::add_scalar, a, term, detail::Keep::nothing, false,
                                  [](const Tensor& g, const Tensor&) { return g; });
}
TANDEM_OPS Tensor sub(const Tensor& a, Scalar b, Scalar alpha) {
  return add(a, b.is_floating_point() ? Scalar(-b.to_double()) : Scalar(-b.to_int64()), alpha);
}
TANDEM_OPS Tensor rsub(const Tensor& a, Scalar b) {
  return detail::scalar_op<"sub">(Unary::rsub_scalar, a, b, detail::Keep::nothing, false,
                                  [](const Tensor& g, const Tensor&) { return neg(g); });
}

TANDEM_OPS Tensor mul(const Tensor& a, const Tensor& b) {
  checks::defined("mul", "the first operand", a);
  checks::defined("mul", "the second operand", b);
  return apply<"mul">(
      [](const Tensor& a, const Tensor& b) {
        Tensor y = detail::binary_kernel("mul", Binary::mul, a, b, detail::arithmetic_dtype(a, b));
        return Result{y, save(a, b), [sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = detail::reduce_to(mul(g.grad(), g.saved(1)), sa);
                        if (g.needs(1)) grads[1] = detail::reduce_to(mul(g.grad(), g.saved(0)), sb);
                        return grads;
                      }};
      },
      a, b);
}
TANDEM_OPS Tensor mul(const Tensor& a, Scalar b) {
  return detail::scalar_op<"mul">(Unary::mul_scalar, a, b, detail::Keep::nothing, false,
                                  [b](const Tensor& g, const Tensor&) { return mul(g, b); });
}

TANDEM_OPS Tensor div(const Tensor& a, const Tensor& b) {
  checks::defined("div", "the first operand", a);
  checks::defined("div", "the second operand", b);
  return apply<"div">(
      [](const Tensor& a, const Tensor& b) {
        Tensor y = detail::binary_kernel("div", Binary::div, a, b, detail::arithmetic_dtype(a, b, true));
        return Result{y, save(a, b), [sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(2);
                        const Tensor b = g.saved(1);
                        if (g.needs(0)) grads[0] = detail::reduce_to(div(g.grad(), b), sa);
                        if (g.needs(1)) {
                          // d(a/b)/db = -(a/b)/b, grouped so that nothing overflows that the quotient does not
                          grads[1] = detail::reduce_to(neg(mul(g.grad(), div(div(g.saved(0), b), b))), sb);
                        }
                        return grads;
                      }};
      },
      a, b);
}
TANDEM_OPS Tensor div(const Tensor& a, Scalar b) {
  return detail::scalar_op<"div">(Unary::div_scalar, a, b, detail::Keep::nothing, true,
                                  [b](const Tensor& g, const Tensor&) { return div(g, b); });
}

TANDEM_OPS Tensor pow(const Tensor& a, const Tensor& b) {
  checks::defined("pow", "the base", a);
  checks::defined("pow", "the exponent", b);
  return apply<"pow">(
      [](const Tensor& a, const Tensor& b) {
        Tensor y = detail::binary_kernel("pow", Binary::pow, a, b, detail::arithmetic_dtype(a, b));
        return Result{y, save(a, b, y), [sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(2);
                        const Tensor a = g.saved(0), b = g.saved(1);
                        if (g.needs(0)) {
                          // b a^(b-1); 0 where b is 0, also for a = 0
                          Tensor slope = where(eq(b, 0), zeros_like(b), mul(b, pow(a, sub(b, 1))));
                          grads[0] = detail::reduce_to(mul(g.grad(), slope), sa);
                        }
                        if (g.needs(1)) {
                          // a^b log a; 0 where a is 0 and b >= 0
                          Tensor zero = logical_and(eq(a, 0), ge(b, 0));
                          Tensor slope = where(zero, zeros({}, a.options()), mul(g.saved(2), log(a)));
                          grads[1] = detail::reduce_to(mul(g.grad(), slope), sb);
                        }
                        return grads;
                      }};
      },
      a, b);
}
TANDEM_OPS Tensor pow(const Tensor& a, Scalar b) {
  TANDEM_CHECK(!a.defined() || a.is_floating_point() || b.is_floating_point() || b.to_int64() >= 0, StateError,
               "pow: an integer base with the negative exponent {} has no integer result; convert it with .to(kFloat)",
               b.to_int64());
  return detail::scalar_op<"pow">(Unary::pow_scalar, a, b, detail::Keep::input, false,
                                  [b](const Tensor& g, const Tensor& x) {
                                    const double e = b.to_double();
                                    if (e == 0) return zeros_like(g);
                                    if (e == 1) return g;
                                    return mul(g, mul(e == 2 ? x : pow(x, e - 1), e));
                                  });
}
TANDEM_OPS Tensor pow(Scalar a, const Tensor& b) {
  return detail::scalar_op<"pow">(Unary::rpow_scalar, b, a, detail::Keep::output, false,
                                  [a](const Tensor& g, const Tensor& y) {
                                    return a.to_double() == 0 ? zeros_like(g) : mul(g, mul(y, std::log(a.to_double())));
                                  });
}

TANDEM_OPS Tensor neg(const Tensor& x) {
  return detail::unary_op<"neg">(Unary::neg, x, detail::Keep::nothing, true,
                                 [](const Tensor& g, const Tensor&) { return neg(g); });
}
TANDEM_OPS Tensor abs(const Tensor& x) {
  return detail::unary_op<"abs">(Unary::abs, x, detail::Keep::input, true,
                                 [](const Tensor& g, const Tensor& x) { return mul(g, sign(x)); });
}
TANDEM_OPS Tensor sign(const Tensor& x) {
  return detail::unary_op<"sign">(Unary::sign, x, detail::Keep::nothing, true, detail::no_gradient);
}
TANDEM_OPS Tensor reciprocal(const Tensor& x) {
  return detail::unary_op<"reciprocal">(Unary::reciprocal, x, detail::Keep::output, false,
                                        [](const Tensor& g, const Tensor& y) { return neg(mul(g, mul(y, y))); });
}
TANDEM_OPS Tensor square(const Tensor& x) {
  return detail::unary_op<"square">(Unary::square, x, detail::Keep::input, true,
                                    [](const Tensor& g, const Tensor& x) { return mul(g, mul(x, 2)); });
}
TANDEM_OPS Tensor sqrt(const Tensor& x) {
  return detail::unary_op<"sqrt">(Unary::sqrt, x, detail::Keep::output, false,
                                  [](const Tensor& g, const Tensor& y) { return div(g, mul(y, 2)); });
}
TANDEM_OPS Tensor rsqrt(const Tensor& x) {
  return detail::unary_op<"rsqrt">(Unary::rsqrt, x, detail::Keep::output, false, [](const Tensor& g, const Tensor& y) {
    return mul(mul(g, -0.5), mul(y, mul(y, y)));
  });
}
TANDEM_OPS Tensor exp(const Tensor& x) {
  return detail::unary_op<"exp">(Unary::exp, x, detail::Keep::output, false,
                                 [](const Tensor& g, const Tensor& y) { return mul(g, y); });
}
TANDEM_OPS Tensor expm1(const Tensor& x) {
  return detail::unary_op<"expm1">(Unary::expm1, x, detail::Keep::output, false,
                                   [](const Tensor& g, const Tensor& y) { return mul(g, add(y, 1)); });
}
TANDEM_OPS Tensor log(const Tensor& x) {
  return detail::unary_op<"log">(Unary::log, x, detail::Keep::input, false,
                                 [](const Tensor& g, const Tensor& x) { return div(g, x); });
}
TANDEM_OPS Tensor log1p(const Tensor& x) {
  return detail::unary_op<"log1p">(Unary::log1p, x, detail::Keep::input, false,
                                   [](const Tensor& g, const Tensor& x) { return div(g, add(x, 1)); });
}
TANDEM_OPS Tensor sin(const Tensor& x) {
  return detail::unary_op<"sin">(Unary::sin, x, detail::Keep::input, false,
                                 [](const Tensor& g, const Tensor& x) { return mul(g, cos(x)); });
}
TANDEM_OPS Tensor cos(const Tensor& x) {
  return detail::unary_op<"cos">(Unary::cos, x, detail::Keep::input, false,
                                 [](const Tensor& g, const Tensor& x) { return neg(mul(g, sin(x))); });
}
TANDEM_OPS Tensor erf(const Tensor& x) {
  return detail::unary_op<"erf">(Unary::erf, x, detail::Keep::input, false, [](const Tensor& g, const Tensor& x) {
    return mul(mul(g, 2 / std::sqrt(M_PI)), exp(neg(mul(x, x))));
  });
}
TANDEM_OPS Tensor floor(const Tensor& x) {
  return detail::unary_op<"floor">(Unary::floor, x, detail::Keep::nothing, true, detail::no_gradient);
}
TANDEM_OPS Tensor ceil(const Tensor& x) {
  return detail::unary_op<"ceil">(Unary::ceil, x, detail::Keep::nothing, true, detail::no_gradient);
}
TANDEM_OPS Tensor round(const Tensor& x) {
  return detail::unary_op<"round">(Unary::round, x, detail::Keep::nothing, true, detail::no_gradient);
}

TANDEM_OPS Tensor atan2(const Tensor& a, const Tensor& b) {
  checks::defined("atan2", "the first operand", a);
  checks::defined("atan2", "the second operand", b);
  return apply<"atan2">(
      [](const Tensor& a, const Tensor& b) {
        Tensor y = detail::binary_kernel("atan2", Binary::atan2, a, b, detail::arithmetic_dtype(a, b, true));
        return Result{y, save(a, b), [sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        const Tensor a = g.saved(0), b = g.saved(1);
                        const Tensor scaled = div(g.grad(), add(mul(a, a), mul(b, b)));
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = detail::reduce_to(mul(scaled, b), sa);
                        if (g.needs(1)) grads[1] = detail::reduce_to(neg(mul(scaled, a)), sb);
                        return grads;
                      }};
      },
      a, b);
}

TANDEM_OPS Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  TANDEM_CHECK(min || max, StateError, "clamp: give min, max or both");
  const double low = min ? min->to_double() : -INFINITY, high = max ? max->to_double() : INFINITY;
  return detail::unary_op<"clamp">(
      Unary::clamp, x, detail::Keep::input, true,
      [low, high](const Tensor& g, const Tensor& x) {
        return where(logical_and(gt(x, low), lt(x, high)), g, zeros({}, g.options()));
      },
      low, high);
}

namespace detail {

/// maximum and minimum: the gradient goes to the operand that won, half to each where equal; beside a NaN nobody lost,
/// and both get it, as in PyTorch.
template <FixedString Name>
Tensor extremum(const Tensor& a, const Tensor& b, Binary op, Binary loses) {
  checks::defined(Name.text, "the first operand", a);
  checks::defined(Name.text, "the second operand", b);
  return apply<Name>(
      [&](const Tensor& a, const Tensor& b) {
        Tensor y = binary_kernel(Name.text, op, a, b, arithmetic_dtype(a, b));
        return Result{y, save(a, b), [loses, sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        const Tensor a = g.saved(0), b = g.saved(1);
                        const Tensor half = mul(g.grad(), 0.5), zero = zeros({}, g.grad().options());
                        auto share = [&](const Tensor& mine, const Tensor& other) {
                          const Tensor lost = loses == Binary::lt ? lt(mine, other) : gt(mine, other);
                          return where(lost, zero, where(eq(mine, other), half, g.grad()));
                        };
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = reduce_to(share(a, b), sa);
                        if (g.needs(1)) grads[1] = reduce_to(share(b, a), sb);
                        return grads;
                      }};
      },
      a, b);
}

}  // namespace detail

TANDEM_OPS Tensor maximum(const Tensor& a, const Tensor& b) {
  return detail::extremum<"maximum">(a, b, Binary::maximum, Binary::lt);
}
TANDEM_OPS Tensor minimum(const Tensor& a, const Tensor& b) {
  return detail::extremum<"minimum">(a, b, Binary::minimum, Binary::gt);
}

TANDEM_OPS Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  checks::defined("where", "the condition", condition);
  checks::defined("where", "the first operand", a);
  checks::defined("where", "the second operand", b);
  TANDEM_CHECK(condition.dtype() == kBool, DTypeError, "where: the condition must be bool, not {}; compare it with 0",
               tandem::name(condition.dtype()));
  return apply<"where">(
      [](const Tensor& condition, const Tensor& a, const Tensor& b) {
        const Dims sizes =
            broadcast_shapes(broadcast_shapes(condition.sizes(), a.sizes(), "where"), b.sizes(), "where");
        Tensor y = empty(sizes, condition.options().dtype(result_type(a, b)));
        backend(y).where(y, detail::broadcast_view(condition, sizes), detail::broadcast_view(a, sizes),
                         detail::broadcast_view(b, sizes));
        return Result{y, save(condition), [sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) -> Grads {
                        const Tensor condition = g.saved(0), zero = zeros({}, g.grad().options());
                        Grads grads(3);
                        if (g.needs(1)) grads[1] = detail::reduce_to(where(condition, g.grad(), zero), sa);
                        if (g.needs(2)) grads[2] = detail::reduce_to(where(condition, zero, g.grad()), sb);
                        return grads;
                      }};
      },
      condition, a, b);
}
TANDEM_OPS Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, detail::scalar_operand(a, b));
}
TANDEM_OPS Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return where(condition, detail::scalar_operand(b, a), b);
}

// ---- comparisons

#define TANDEM_COMPARISON(NAME) \
  TANDEM_OPS Tensor NAME(const Tensor& a, const Tensor& b) { return detail::compare_op<#NAME>(Binary::NAME, a, b); }
TANDEM_COMPARISON(eq)
TANDEM_COMPARISON(ne)
TANDEM_COMPARISON(lt)
TANDEM_COMPARISON(le)
TANDEM_COMPARISON(gt)
TANDEM_COMPARISON(ge)
TANDEM_COMPARISON(logical_and)
TANDEM_COMPARISON(logical_or)
TANDEM_COMPARISON(logical_xor)
#undef TANDEM_COMPARISON

#define TANDEM_COMPARISON(NAME)                                                      \
  TANDEM_OPS Tensor NAME(const Tensor& a, Scalar b) {                                \
    checks::defined(#NAME, "the first operand", a);                                  \
    return detail::compare_op<#NAME>(Binary::NAME, a, detail::scalar_operand(a, b)); \
  }
TANDEM_COMPARISON(eq)
TANDEM_COMPARISON(ne)
TANDEM_COMPARISON(lt)
TANDEM_COMPARISON(le)
TANDEM_COMPARISON(gt)
TANDEM_COMPARISON(ge)
#undef TANDEM_COMPARISON

#define TANDEM_TEST(NAME)                                                                             \
  TANDEM_OPS Tensor NAME(const Tensor& x) {                                                           \
    return detail::unary_op<#NAME>(Unary::NAME, x, detail::Keep::nothing, true, detail::no_gradient); \
  }
TANDEM_TEST(logical_not)
TANDEM_TEST(isfinite)
TANDEM_TEST(isnan)
TANDEM_TEST(isinf)
#undef TANDEM_TEST

// ---- activations and their derivatives

namespace detail {

/// gx = f(gy, kept): a derivative that is one kernel, and itself differentiable.
/// second(ggx, gy, kept) -> d/d(kept), undefined where it is zero everywhere.
template <FixedString Name, class D>
Tensor derivative_op(Binary op, const Tensor& gy, const Tensor& kept, Tensor (*self)(const Tensor&, const Tensor&),
                     D second) {
  return apply<Name>(
      [&](const Tensor& gy, const Tensor& kept) {
        Tensor gx = binary_kernel(Name.text, op, gy, kept, gy.dtype());
        return Result{gx, save(gy, kept), [self, second](const Backward& b) -> Grads {
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = self(b.grad(), b.saved(1));
                        if (b.needs(1)) grads[1] = second(b.grad(), b.saved(0), b.saved(1));
                        return grads;
                      }};
      },
      gy, kept);
}

/// Density of the standard normal distribution.
inline Tensor normal_density(const Tensor& x) { return mul(exp(mul(mul(x, x), -0.5)), 1 / std::sqrt(2 * M_PI)); }

/// gelu's tanh form, differentiated with ops; see gelu() for the formula.
inline Tensor gelu_tanh_derivative(const Tensor& gy, const Tensor& x) {
  constexpr double c = 0.7978845608028654, k = 0.044715;  // sqrt(2 / pi)
  const Tensor t = tanh(mul(add(x, mul(pow(x, 3), k)), c));
  const Tensor inner = mul(add(mul(square(x), 3 * k), 1), c);
  const Tensor slope = add(mul(add(t, 1), 0.5), mul(mul(x, 0.5), mul(rsub(square(t), 1), inner)));
  return mul(gy, slope);
}

}  // namespace detail

TANDEM_OPS Tensor relu(const Tensor& x) {
  return detail::unary_op<"relu">(Unary::relu, x, detail::Keep::output, true, relu_backward);
}
TANDEM_OPS Tensor relu_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op<"relu_backward">(Binary::relu_backward, gy, y, relu_backward,
                                                [](const Tensor&, const Tensor&, const Tensor&) { return Tensor(); });
}

TANDEM_OPS Tensor sigmoid(const Tensor& x) {
  return detail::unary_op<"sigmoid">(Unary::sigmoid, x, detail::Keep::output, false, sigmoid_backward);
}
TANDEM_OPS Tensor sigmoid_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op<"sigmoid_backward">(
      Binary::sigmoid_backward, gy, y, sigmoid_backward,
      [](const Tensor& ggx, const Tensor& gy, const Tensor& y) { return mul(mul(ggx, gy), add(mul(y, -2), 1)); });
}

TANDEM_OPS Tensor tanh(const Tensor& x) {
  return detail::unary_op<"tanh">(Unary::tanh, x, detail::Keep::output, false, tanh_backward);
}
TANDEM_OPS Tensor tanh_backward(const Tensor& gy, const Tensor& y) {
  return detail::derivative_op<"tanh_backward">(
      Binary::tanh_backward, gy, y, tanh_backward,
      [](const Tensor& ggx, const Tensor& gy, const Tensor& y) { return mul(mul(ggx, gy), mul(y, -2)); });
}

TANDEM_OPS Tensor gelu(const Tensor& x, const std::string& approximate) {
  TANDEM_CHECK(approximate == "none" || approximate == "tanh", StateError,
               "gelu: approximate must be \"none\" or \"tanh\", not \"{}\"", approximate);
  if (approximate == "none") return detail::unary_op<"gelu">(Unary::gelu, x, detail::Keep::input, false, gelu_backward);
  return detail::unary_op<"gelu">(
      Unary::gelu_tanh, x, detail::Keep::input, false, [](const Tensor& gy, const Tensor& x) {
        if (GradMode::is_enabled()) return detail::gelu_tanh_derivative(gy, x);
        return detail::binary_kernel("gelu_backward", Binary::gelu_tanh_backward, gy, x, gy.dtype());
      });
}
TANDEM_OPS Tensor gelu_backward(const Tensor& gy, const Tensor& x) {
  return detail::derivative_op<"gelu_backward">(
      Binary::gelu_backward, gy, x, gelu_backward, [](const Tensor& ggx, const Tensor& gy, const Tensor& x) {
        return mul(mul(ggx, gy), mul(detail::normal_density(x), rsub(square(x), 2)));
      });
}

TANDEM_OPS Tensor softplus(const Tensor& x) {
  return detail::unary_op<"softplus">(Unary::softplus, x, detail::Keep::input, false,
                                      [](const Tensor& g, const Tensor& x) { return mul(g, sigmoid(x)); });
}
TANDEM_OPS Tensor logsigmoid(const Tensor& x) {
  return detail::unary_op<"logsigmoid">(Unary::logsigmoid, x, detail::Keep::input, false,
                                        [](const Tensor& g, const Tensor& x) { return mul(g, sigmoid(neg(x))); });
}

}  // namespace tandem
