#pragma once
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"

namespace tandem {

TANDEM_OPS Tensor sum_to_size(const Tensor& g, IntArrayRef sizes) {
  const OpScope op("sum_to_size");
  checks::defined("the input", g);
  if (g.sizes() == sizes) return g;
  bool fits = sizes.size() <= g.sizes().size();
  const size_t lead = fits ? g.sizes().size() - sizes.size() : 0;
  for (size_t d = 0; fits && d < sizes.size(); ++d) fits = sizes[d] == 1 || sizes[d] == g.sizes()[d + lead];
  TANDEM_CHECK(fits, ShapeError, "{} cannot be summed to {}, whose sizes must broadcast to it", checks::show(g),
               to_string(sizes));
  Dims reduced;
  for (size_t d = 0; d < g.sizes().size(); ++d) {
    if (d < lead || (sizes[d - lead] == 1 && g.sizes()[d] != 1)) reduced.push_back(static_cast<int64_t>(d));
  }
  const std::optional<DType> dtype = g.is_floating_point() ? std::optional(g.dtype()) : std::nullopt;
  Tensor s = reduced.empty() ? g : sum(g, reduced, true, dtype);
  return lead == 0 ? s : view(s, sizes);
}

namespace detail {

inline constexpr Keep keep_x = Keep::input, keep_y = Keep::output, keep_nothing = Keep::nothing;

/// Derivative of a + factor b.
struct AddDerivative {
  double factor;
  Tensor operator()(const Backward& g, size_t i) const {
    return i == 0 || factor == 1 ? g.grad() : mul(g.grad(), factor);
  }
};

/// Derivative of maximum and minimum: the selected operand gets the gradient; equal operands get half each. If either
/// operand is NaN, both get the full gradient, as in PyTorch.
struct WinnerTakes {
  Tensor (*loses)(const Tensor&, const Tensor&);
  Tensor operator()(const Backward& g, size_t i) const {
    const Tensor mine = g.saved(i), other = g.saved(1 - i);
    const Tensor shared = where(eq(mine, other), mul(g.grad(), 0.5), g.grad());
    return where(loses(mine, other), zeros({}, g.grad().options()), shared);
  }
};

/// d sinc / dx = (cos(pi x) - sinc(x)) / x. Near 0, where the difference cancels, the first terms of the series
/// pi^2 x (-1/3 + t/30 - t^2/840 + t^3/45360 - t^4/3991680 + ...) of t = (pi x)^2.
inline Tensor sinc_slope(const Tensor& x) {
  const Tensor near = lt(abs(x), 0.05), far = where(near, ones({}, x.options()), x);
  const Tensor slope = div(sub(cos(mul(far, M_PI)), sinc(far)), far);
  const Tensor t = square(mul(x, M_PI));
  Tensor series = mul(t, -1.0 / 3991680);
  for (double c : {1.0 / 45360, -1.0 / 840, 1.0 / 30}) series = mul(add(series, c), t);
  return where(near, mul(mul(sub(series, 1.0 / 3), x), M_PI * M_PI), slope);
}

inline Tensor i1_slope(const Tensor& x) {
  const Tensor slope = sub(i0(x), div(special_i1(x), x));
  return where(eq(x, 0), full({}, 0.5, slope.options()), slope);
}

[[noreturn]] inline Tensor no_derivative_of_trigamma(const Tensor&) {
  TANDEM_THROW(NotImplementedError, "the second derivative of digamma is not implemented");
}

}  // namespace detail

// ---- arithmetic

TANDEM_OPS Tensor add(const Tensor& a, const Tensor& b, Scalar alpha) {
  const Op<"add"> op;
  if (detail::needs_exact_alpha(a, b, alpha)) return add(a, detail::exact_multiple(a, b, alpha));
  return detail::binary_op(op, a, b, detail::Keep::nothing, detail::AddDerivative{alpha.to_double()},
                           alpha.to_double());
}
TANDEM_OPS Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha) {
  const Op<"sub"> op;
  checks::difference(a, b);
  if (detail::needs_exact_alpha(a, b, alpha)) return sub(a, detail::exact_multiple(a, b, alpha));
  return detail::binary_op(op, a, b, detail::Keep::nothing, detail::AddDerivative{-alpha.to_double()},
                           alpha.to_double());
}
TANDEM_OPS Tensor add(const Tensor& a, Scalar b, Scalar alpha) {
  return detail::scalar_op(Op<"add">(), Unary::add_scalar, a, detail::scalar_product(b, alpha), detail::Keep::nothing,
                           [](const Tensor& g, const Tensor&) { return g; });
}
TANDEM_OPS Tensor sub(const Tensor& a, Scalar b, Scalar alpha) {
  const OpScope op("sub");
  checks::difference(a, b);
  return add(a, detail::scalar_product(detail::scalar_product(b, alpha), -1));
}
TANDEM_OPS Tensor rsub(const Tensor& a, Scalar b) {
  const OpScope op("rsub");
  checks::difference(a, b);
  return detail::scalar_op(Op<"sub">(), Unary::rsub_scalar, a, b, detail::Keep::nothing,
                           [](const Tensor& g, const Tensor&) { return neg(g); });
}

TANDEM_OPS Tensor mul(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"mul">(), a, b, detail::Keep::input,
                           [](const Backward& g, size_t i) { return mul(g.grad(), g.saved(1 - i)); });
}
TANDEM_OPS Tensor mul(const Tensor& a, Scalar b) {
  return detail::scalar_op(Op<"mul">(), Unary::mul_scalar, a, b, detail::Keep::nothing,
                           [b](const Tensor& g, const Tensor&) { return mul(g, b); });
}

TANDEM_OPS Tensor div(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"div">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    const Tensor b = g.saved(1);
    if (i == 0) return div(g.grad(), b);
    // d(a/b)/db = -(a/b)/b: a grouping in which no intermediate overflows unless the quotients do
    return neg(mul(g.grad(), div(div(g.saved(0), b), b)));
  });
}
TANDEM_OPS Tensor div(const Tensor& a, Scalar b) {
  return detail::scalar_op(Op<"div">(), Unary::div_scalar, a, b, detail::Keep::nothing,
                           [b](const Tensor& g, const Tensor&) { return div(g, b); });
}

TANDEM_OPS Tensor operator/(Scalar a, const Tensor& b) {
  const OpScope op("div");
  return mul(reciprocal(b), a);
}

TANDEM_OPS Tensor pow(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"pow">(), a, b, detail::Keep::both, [](const Backward& g, size_t i) {
    const Tensor a = detail::wide_operand(g, 0), b = detail::wide_operand(g, 1);
    if (i == 0) {
      // b a^(b-1), and 0 if b is 0, also for a = 0
      return mul(g.grad(), where(eq(b, 0), zeros_like(b), mul(b, pow(a, sub(b, 1)))));
    }
    // a^b log a, and 0 if a is 0 and b >= 0
    const Tensor zero = logical_and(eq(a, 0), ge(b, 0));
    return mul(g.grad(), where(zero, zeros({}, a.options()), mul(g.saved(2), log(a))));
  });
}
TANDEM_OPS Tensor pow(const Tensor& a, Scalar b) {
  const Op<"pow"> op;
  if (a.defined()) checks::exponent(a, b);
  return detail::scalar_op(op, Unary::pow_scalar, a, b, detail::Keep::input, [b](const Tensor& g, const Tensor& x) {
    const double e = b.to_double();
    if (e == 0) return zeros_like(g);
    if (e == 1) return g;
    return mul(g, mul(e == 2 ? x : pow(x, e - 1), e));
  });
}
TANDEM_OPS Tensor pow(Scalar a, const Tensor& b) {
  return detail::scalar_op(Op<"pow">(), Unary::rpow_scalar, b, a, detail::Keep::output,
                           [a](const Tensor& g, const Tensor& y) {
                             const Tensor slope = mul(g, mul(y, std::log(a.to_double())));
                             // 0^x is 0 for x > 0, with slope 0; for x < 0 it is inf, for NaN it is NaN.
                             return a.to_double() == 0 ? where(isfinite(y), zeros({}, slope.options()), slope) : slope;
                           });
}

TANDEM_OPS Tensor square(const Tensor& x) {
  if (x.defined() && x.dtype() == kBool) return pow(x, 2);  // 0 and 1 in i64, as in PyTorch
  return detail::unary_op(Op<"square">(), x, detail::Keep::input,
                          [](const Tensor& g, const Tensor& x) { return mul(g, mul(x, 2)); });
}
TANDEM_OPS Tensor atan2(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"atan2">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    // b / (a^2 + b^2) and -a / (a^2 + b^2), over the larger of |a| and |b|, whose square may leave the dtype's range.
    const Tensor a = detail::wide_operand(g, 0), b = detail::wide_operand(g, 1);
    Tensor scale = maximum(abs(a), abs(b)).detach();
    const Tensor one = ones({}, scale.options()), origin = eq(scale, 0);
    scale = where(logical_or(isinf(scale), origin), one, scale);
    const Tensor u = div(a, scale), v = div(b, scale);
    // 0 at the origin, as in PyTorch.
    const Tensor squares = where(origin, one, add(mul(u, u), mul(v, v)));
    return div(mul(g.grad(), div(i == 0 ? v : neg(u), squares)), scale);
  });
}

TANDEM_OPS Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  const Op<"clamp"> op;
  TANDEM_CHECK(min || max, StateError, "no bounds; give min, max or both");
  if (x.defined() && !is_floating_point(x.dtype()) &&
      (min.value_or(0).is_floating_point() || max.value_or(0).is_floating_point())) {
    return clamp(to(x, get_default_dtype()), min, max);  // by type promotion
  }
  if (x.defined() && !x.is_floating_point() &&
      !(detail::fits_double(min.value_or(0)) && detail::fits_double(max.value_or(0)))) {
    const Tensor y = min ? maximum(x, detail::number_operand(x, *min)) : x;
    return max ? minimum(y, detail::number_operand(x, *max)) : y;
  }
  const double low = min ? min->to_double() : -INFINITY, high = max ? max->to_double() : INFINITY;
  return detail::unary_op(
      op, x, detail::Keep::input,
      [min, max](const Tensor& g, const Tensor& x) {
        // The subgradient at a bound is 0, as in PyTorch. An absent bound is not treated as infinity, because x can be
        // infinite.
        const Tensor zero = zeros({}, g.options());
        if (!max) return where(gt(x, *min), g, zero);
        return where(min ? logical_and(gt(x, *min), lt(x, *max)) : lt(x, *max), g, zero);
      },
      low, high);
}

TANDEM_OPS Tensor maximum(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"maximum">(), a, b, detail::Keep::input, detail::WinnerTakes{lt});
}
TANDEM_OPS Tensor minimum(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"minimum">(), a, b, detail::Keep::input, detail::WinnerTakes{gt});
}

TANDEM_OPS Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Op<"where"> op;
  checks::defined("the condition", condition);
  checks::defined("the first operand", a);
  checks::defined("the second operand", b);
  TANDEM_CHECK(condition.dtype() == kBool, DTypeError, "the condition must be bool, not {}; compare it with 0",
               tandem::name(condition.dtype()));
  return op.apply(
      [](const Tensor& condition, const Tensor& a, const Tensor& b) {
        const Dims sizes = broadcast_shapes(broadcast_shapes(condition.sizes(), a.sizes()), b.sizes());
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
namespace detail {

/// number_operand(a, b), after a check that an integer fits the result's dtype.
inline Tensor chosen_number(const Tensor& a, Scalar b) {
  const DType t = result_type(a, b);
  if (is_integral(t, true)) check_fits(b, t);
  return number_operand(a, b);
}

}  // namespace detail

TANDEM_OPS Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  const OpScope op("where");
  checks::defined("the first operand", a);
  return where(condition, a, detail::chosen_number(a, b));
}
TANDEM_OPS Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  const OpScope op("where");
  checks::defined("the second operand", b);
  return where(condition, detail::chosen_number(b, a), b);
}

// ---- comparisons

#define TANDEM_COMPARISON(NAME) \
  TANDEM_OPS Tensor NAME(const Tensor& a, const Tensor& b) { return detail::compare_op(Op<#NAME>(), a, b); }
TANDEM_COMPARISON(lt)
TANDEM_COMPARISON(le)
TANDEM_COMPARISON(gt)
TANDEM_COMPARISON(ge)
TANDEM_COMPARISON(logical_and)
TANDEM_COMPARISON(logical_or)
TANDEM_COMPARISON(logical_xor)
#undef TANDEM_COMPARISON

namespace detail {

/// Whether these are two tensors of u16, u32 or u64, which only hold values: equal where their bits are.
inline bool compares_bits(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.dtype() == b.dtype() && is_storage_only(a.dtype()) && is_unsigned(a.dtype());
}
/// The signed integers with the same bits.
inline Tensor signed_bits(const Tensor& x) {
  return view_dtype(x, x.element_size() == 2 ? kShort : x.element_size() == 4 ? kInt : kLong);
}

}  // namespace detail

#define TANDEM_EQUALITY(NAME)                                                      \
  TANDEM_OPS Tensor NAME(const Tensor& a, const Tensor& b) {                       \
    const Op<#NAME> op;                                                            \
    if (!detail::compares_bits(a, b)) return detail::compare_op(op, a, b);         \
    return detail::compare_op(op, detail::signed_bits(a), detail::signed_bits(b)); \
  }
TANDEM_EQUALITY(eq)
TANDEM_EQUALITY(ne)
#undef TANDEM_EQUALITY

#define TANDEM_COMPARISON(NAME)                                     \
  TANDEM_OPS Tensor NAME(const Tensor& a, Scalar b) {               \
    const Op<#NAME> op;                                             \
    checks::defined("the first operand", a);                        \
    return detail::compare_op(op, a, detail::scalar_operand(a, b)); \
  }
TANDEM_COMPARISON(eq)
TANDEM_COMPARISON(ne)
TANDEM_COMPARISON(lt)
TANDEM_COMPARISON(le)
TANDEM_COMPARISON(gt)
TANDEM_COMPARISON(ge)
#undef TANDEM_COMPARISON

// ---- the ops of one operand that are a formula, with the derivative in the formula's row; those of activation.h, too

#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)
#define TANDEM_UNARY_OP(NAME, SAVED, DERIVATIVE)                                                               \
  TANDEM_OPS Tensor NAME(const Tensor& input) {                                                                \
    return detail::unary_op(Op<#NAME>(), input, detail::keep_##SAVED,                                          \
                            [](const Tensor& g, [[maybe_unused]] const Tensor& SAVED) { return DERIVATIVE; }); \
  }
#include "tandem/math/unary.inc"

}  // namespace tandem
