#pragma once
#include <algorithm>
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/reduce.h"

namespace tandem {

namespace detail {

// ---- checks

/// Throws DTypeError if the operands promote to bool.
inline void refuse_bools(DType t) {
  TANDEM_CHECK(t != kBool, DTypeError, "not defined on bool; convert an operand with .to()");
}
/// Throws DTypeError unless the operands promote to an integer dtype, or to bool if that is allowed.
inline void check_integers(DType t, bool or_bool) {
  TANDEM_CHECK(is_integral(t, or_bool), DTypeError, "needs {}, but the operands are {}; convert them with .to(kLong)",
               or_bool ? "integers or bool" : "integers", tandem::name(t));
}
/// Throws StateError for an integer division by zero. On a device nothing is checked, as in PyTorch.
inline void check_divisor(const Tensor& a, const Tensor& b, DType result) {
  if (is_floating_point(result) || !b.is_cpu() || !a.is_cpu() || b.numel() == 0) return;
  NoGradGuard no_grad;
  TANDEM_CHECK(all(b).item<bool>(), StateError,
               "b is {} and contains 0, by which integers cannot be divided; convert it with .to(kFloat)",
               checks::show(b));
}
inline void check_operands(const Tensor& a, const Tensor& b) {
  checks::defined("the first operand", a);
  checks::defined("the second operand", b);
}
/// Checks the operands of a division that keeps integers.
inline void check_division(const Tensor& a, const Tensor& b) {
  check_operands(a, b);
  const DType t = result_type(a, b);
  refuse_bools(t);
  check_divisor(a, b, t);
}

// ---- forms

/// A binary op without a derivative.
template <FixedString Name>
Tensor plain_binary_op(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  constexpr Binary kernel = binary_kernel_of<Name>();
  check_operands(a, b);
  return op.apply(
      [](const Tensor& a, const Tensor& b) {
        return Result{binary_kernel(kernel, a, b, dtype_of_result(kernel, result_type(a, b)))};
      },
      a, b);
}

/// A binary op whose gradient is 0.
template <FixedString Name>
Tensor flat_binary_op(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  return binary_op(op, a, b, Keep::nothing, [](const Backward& g, size_t) { return zeros_like(g.grad()); });
}

/// An op of integers: no gradient.
template <FixedString Name>
Tensor integer_op(const Op<Name>& op, const Tensor& a, const Tensor& b, bool or_bool) {
  check_operands(a, b);
  check_integers(result_type(a, b), or_bool);
  return plain_binary_op(op, a, b);
}

/// min(max(x, low), high), whose gradient goes to the bound that x exceeds. x and a bound that equals it get half each,
/// unless the bounds are equal too. Source: PyTorch 2.15, clamp_backward_min_max.
inline Tensor clamp_between(const Tensor& x, const Tensor& low, const Tensor& high) {
  const Op<"clamp"> op;
  checks::defined("min", low);
  checks::defined("max", high);
  return op.apply(
      [](const Tensor& x, const Tensor& low, const Tensor& high) {
        const Tensor y = minimum(maximum(x, low), high);
        return Result{y, save(x, low, high),
                      [sx = x.impl().sizes, sl = low.impl().sizes, sh = high.impl().sizes](const Backward& b) {
                        const Tensor& g = b.grad();
                        const Tensor x = b.saved(0), low = b.saved(1), high = b.saved(2);
                        const Tensor zero = zeros({}, g.options()), ordered = le(low, high), between = lt(low, high);
                        const auto shared = [&](const Tensor& bound) {
                          return where(logical_and(between, eq(x, bound)), mul(g, 0.5), zero);
                        };
                        const auto to_bound = [&](const Tensor& exceeded, const Tensor& bound) {
                          return where(logical_and(ordered, exceeded), g, shared(bound));
                        };
                        Grads grads(3);
                        if (b.needs(0)) {
                          const Tensor on_bound = logical_and(between, logical_or(eq(x, low), eq(x, high)));
                          const Tensor inside = where(on_bound, mul(g, 0.5), g);
                          grads[0] = reduce_to(where(logical_or(lt(x, low), gt(x, high)), zero, inside), sx);
                        }
                        if (b.needs(1)) grads[1] = reduce_to(to_bound(lt(x, low), low), sl);
                        if (b.needs(2)) {
                          grads[2] = reduce_to(where(gt(low, high), g, to_bound(gt(x, high), high)), sh);
                        }
                        return grads;
                      }};
      },
      x, low, high);
}

/// The derivative of fmax and fmin: that of maximum and minimum, but a NaN gets nothing, except the first of two.
struct NumberTakes {
  Tensor (*loses)(const Tensor&, const Tensor&);
  Tensor operator()(const Backward& g, size_t i) const {
    const Tensor mine = g.saved(i), other = g.saved(1 - i);
    const Tensor shared = where(eq(mine, other), mul(g.grad(), 0.5), g.grad());
    const Tensor dropped = i == 0 ? logical_and(isnan(mine), logical_not(isnan(other))) : isnan(mine);
    return where(logical_or(loses(mine, other), dropped), zeros({}, g.grad().options()), shared);
  }
};

}  // namespace detail

// ---- division

TANDEM_OPS Tensor fmod(const Tensor& a, const Tensor& b) {
  const Op<"fmod"> op;
  detail::check_division(a, b);
  return detail::binary_op(op, a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    return i == 0 ? g.grad() : neg(mul(g.grad(), div(g.saved(0), g.saved(1), "trunc")));
  });
}
TANDEM_OPS Tensor remainder(const Tensor& a, const Tensor& b) {
  const Op<"remainder"> op;
  detail::check_division(a, b);
  return detail::binary_op(op, a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    return i == 0 ? g.grad() : neg(mul(g.grad(), div(g.saved(0), g.saved(1), "floor")));
  });
}
TANDEM_OPS Tensor floor_divide(const Tensor& a, const Tensor& b) {
  const Op<"floor_divide"> op;
  detail::check_division(a, b);
  return detail::plain_binary_op(op, a, b);
}
TANDEM_OPS Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string> rounding_mode) {
  const OpScope op("div");
  if (!rounding_mode) return div(a, b);
  TANDEM_CHECK(*rounding_mode == "trunc" || *rounding_mode == "floor", StateError,
               "rounding_mode must be \"trunc\" or \"floor\", not \"{}\"", *rounding_mode);
  detail::check_division(a, b);
  return *rounding_mode == "trunc" ? detail::flat_binary_op(Op<"trunc_divide">(), a, b)
                                   : detail::flat_binary_op(Op<"floor_divide">(), a, b);
}
TANDEM_OPS Tensor div(const Tensor& a, Scalar b, std::optional<std::string> rounding_mode) {
  const OpScope op("div");
  checks::defined("the first operand", a);
  return div(a, detail::number_operand(a, b), std::move(rounding_mode));
}

// ---- functions of two numbers

TANDEM_OPS Tensor hypot(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"hypot">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    // Not by the result, which f16 may have rounded to few digits.
    const Tensor a = detail::wide_operand(g, 0), b = detail::wide_operand(g, 1);
    return mul(g.grad(), div(i == 0 ? a : b, hypot(a, b)));
  });
}
TANDEM_OPS Tensor fmax(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"fmax">(), a, b, detail::Keep::input, detail::NumberTakes{lt});
}
TANDEM_OPS Tensor fmin(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"fmin">(), a, b, detail::Keep::input, detail::NumberTakes{gt});
}
TANDEM_OPS Tensor copysign(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"copysign">(), a, b, detail::Keep::both, [](const Backward& g, size_t i) {
    if (i == 1) return zeros_like(g.grad());
    const Tensor a = g.saved(0), ratio = div(g.saved(2), a);
    return mul(g.grad(), where(eq(a, 0), zeros({}, ratio.options()), ratio));
  });
}
TANDEM_OPS Tensor nextafter(const Tensor& a, const Tensor& b) {
  const Op<"nextafter"> op;
  checks::defined("the first operand", a);
  checks::defined("the second operand", b);
  // The kernel computes in f32 what is stored in a narrower dtype.
  const DType t = result_type(a, b);
  TANDEM_CHECK(is_floating_point(t), DTypeError,
               "the operands are {} and {}, but one of them must be floating; convert it with .to(kFloat)",
               checks::show(a), checks::show(b));
  const double unused = t == kBFloat16 ? 16 : t == kHalf ? 13 : 0;
  return detail::binary_op(
      op, a, b, detail::Keep::input,
      [](const Backward& g, size_t i) {
        return i == 1 ? zeros_like(g.grad()) : where(ne(g.saved(0), g.saved(1)), g.grad(), 0);
      },
      unused);
}
TANDEM_OPS Tensor logaddexp(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"logaddexp">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    return mul(g.grad(), sigmoid(sub(detail::wide_operand(g, i), detail::wide_operand(g, 1 - i))));
  });
}
TANDEM_OPS Tensor logaddexp2(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"logaddexp2">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    return mul(g.grad(), sigmoid(mul(sub(detail::wide_operand(g, i), detail::wide_operand(g, 1 - i)), M_LN2)));
  });
}
TANDEM_OPS Tensor xlogy(const Tensor& a, const Tensor& b) {
  return detail::binary_op(Op<"xlogy">(), a, b, detail::Keep::input, [](const Backward& g, size_t i) {
    const Tensor a = g.saved(0), b = g.saved(1);
    if (i == 1) return div(mul(g.grad(), a), b);  // a / b may overflow f16 where the product does not
    const Tensor slope = log(to(b, g.grad().dtype()));
    return mul(g.grad(), where(logical_and(eq(a, 0), le(b, 0)), zeros({}, slope.options()), slope));
  });
}
TANDEM_OPS Tensor heaviside(const Tensor& x, const Tensor& values) {
  const Op<"heaviside"> op;
  checks::defined("x", x);
  checks::defined("values", values);
  checks::same_dtype("x", x, "values", values);
  return detail::plain_binary_op(op, x, values);
}
TANDEM_OPS Tensor ldexp(const Tensor& x, const Tensor& exponent) {
  const OpScope op("ldexp");
  detail::check_operands(x, exponent);
  DType t = result_type(x, exponent);
  if (!is_floating_point(t)) t = get_default_dtype();
  // 2^exponent may leave the range of the result's dtype where the product does not.
  return to(mul(to(x, kDouble), pow(2.0, to(exponent, kDouble))), t);
}
TANDEM_OPS std::tuple<Tensor, Tensor> frexp(const Tensor& x) {
  const Op<"frexp"> op;
  checks::floating("x", x);
  const std::vector<Tensor> out = op.apply_n(
      [&](const Tensor& x) {
        const Tensor mantissa = empty_like(x), exponent = empty_like(x);
        backend(x).unary(mantissa, kernels::Unary::frexp_mantissa, x, 0, 0);
        backend(x).unary(exponent, kernels::Unary::frexp_exponent, x, 0, 0);
        const Tensor whole = to(exponent, kInt);
        return Result{{mantissa, whole}, save(whole), [](const Backward& b) -> Grads {
                        return {ldexp(b.grad(0), neg(b.saved(0)))};
                      }};
      },
      x);
  return {out[0], out[1]};
}
TANDEM_OPS Tensor float_power(const Tensor& a, const Tensor& b) {
  const OpScope op("float_power");
  detail::check_operands(a, b);
  return pow(to(a, kDouble), to(b, kDouble));
}
TANDEM_OPS Tensor float_power(const Tensor& a, Scalar b) {
  const OpScope op("float_power");
  checks::defined("the first operand", a);
  return pow(to(a, kDouble), b.to_double());
}
TANDEM_OPS Tensor float_power(Scalar a, const Tensor& b) {
  const OpScope op("float_power");
  checks::defined("the second operand", b);
  return pow(a.to_double(), to(b, kDouble));
}
TANDEM_OPS Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha) {
  const OpScope op("rsub");
  return sub(b, a, alpha);
}
TANDEM_OPS Tensor rsub(const Tensor& a, Scalar b, Scalar alpha) {
  const OpScope op("rsub");
  checks::defined("the first operand", a);
  checks::difference(a, b);
  return sub(detail::number_operand(a, b), a, alpha);
}
TANDEM_OPS Tensor gcd(const Tensor& a, const Tensor& b) { return detail::integer_op(Op<"gcd">(), a, b, false); }
TANDEM_OPS Tensor lcm(const Tensor& a, const Tensor& b) { return detail::integer_op(Op<"lcm">(), a, b, false); }

// ---- bounds

TANDEM_OPS Tensor clamp(const Tensor& x, std::optional<Tensor> min, std::optional<Tensor> max) {
  const OpScope op("clamp");
  checks::defined("the input", x);
  TANDEM_CHECK(min || max, StateError, "no bounds; give min, max or both");
  if (!max) return maximum(x, *min);
  return min ? detail::clamp_between(x, *min, *max) : minimum(x, *max);
}
TANDEM_OPS Tensor clamp_min(const Tensor& x, Scalar min) {
  const OpScope op("clamp_min");
  return clamp(x, std::optional<Scalar>(min));
}
TANDEM_OPS Tensor clamp_min(const Tensor& x, const Tensor& min) {
  const OpScope op("clamp_min");
  return maximum(x, min);
}
TANDEM_OPS Tensor clamp_max(const Tensor& x, Scalar max) {
  const OpScope op("clamp_max");
  return clamp(x, std::optional<Scalar>(), max);
}
TANDEM_OPS Tensor clamp_max(const Tensor& x, const Tensor& max) {
  const OpScope op("clamp_max");
  return minimum(x, max);
}

// ---- bits

TANDEM_OPS Tensor bitwise_not(const Tensor& x) {
  const Op<"bitwise_not"> op;
  checks::defined("the input", x);
  if (x.dtype() == kBool) return logical_not(x);
  detail::check_integers(x.dtype(), true);
  return detail::unary_op(op, x, detail::Keep::nothing, [](const Tensor& g, const Tensor&) { return g; });
}
TANDEM_OPS Tensor bitwise_and(const Tensor& a, const Tensor& b) {
  return detail::integer_op(Op<"bitwise_and">(), a, b, true);
}
TANDEM_OPS Tensor bitwise_or(const Tensor& a, const Tensor& b) {
  return detail::integer_op(Op<"bitwise_or">(), a, b, true);
}
TANDEM_OPS Tensor bitwise_xor(const Tensor& a, const Tensor& b) {
  return detail::integer_op(Op<"bitwise_xor">(), a, b, true);
}
TANDEM_OPS Tensor bitwise_left_shift(const Tensor& a, const Tensor& b) {
  return detail::integer_op(Op<"bitwise_left_shift">(), a, b, false);
}
TANDEM_OPS Tensor bitwise_left_shift(Scalar a, const Tensor& b) {
  const OpScope op("bitwise_left_shift");
  checks::defined("b", b);
  return bitwise_left_shift(scalar_tensor(a, b.options().dtype(a.kind())), b);
}
TANDEM_OPS Tensor bitwise_right_shift(const Tensor& a, const Tensor& b) {
  return detail::integer_op(Op<"bitwise_right_shift">(), a, b, false);
}
TANDEM_OPS Tensor bitwise_right_shift(Scalar a, const Tensor& b) {
  const OpScope op("bitwise_right_shift");
  checks::defined("b", b);
  return bitwise_right_shift(scalar_tensor(a, b.options().dtype(a.kind())), b);
}

// ---- the same with a number

#define TANDEM_WITH_NUMBER(NAME)                      \
  TANDEM_OPS Tensor NAME(const Tensor& a, Scalar b) { \
    const Op<#NAME> op;                               \
    checks::defined("the first operand", a);          \
    return NAME(a, detail::number_operand(a, b));     \
  }
TANDEM_WITH_NUMBER(fmod)
TANDEM_WITH_NUMBER(remainder)
TANDEM_WITH_NUMBER(floor_divide)
TANDEM_WITH_NUMBER(copysign)
TANDEM_WITH_NUMBER(xlogy)
TANDEM_WITH_NUMBER(bitwise_and)
TANDEM_WITH_NUMBER(bitwise_or)
TANDEM_WITH_NUMBER(bitwise_xor)
TANDEM_WITH_NUMBER(bitwise_left_shift)
TANDEM_WITH_NUMBER(bitwise_right_shift)
#undef TANDEM_WITH_NUMBER
TANDEM_OPS Tensor remainder(Scalar a, const Tensor& b) {
  const Op<"remainder"> op;
  checks::defined("the second operand", b);
  return remainder(detail::number_operand(b, a), b);
}
TANDEM_OPS Tensor xlogy(Scalar a, const Tensor& b) {
  const Op<"xlogy"> op;
  checks::defined("the second operand", b);
  return xlogy(detail::number_operand(b, a), b);
}

// ---- comparisons of whole tensors

TANDEM_OPS Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const OpScope op("isclose");
  detail::check_operands(a, b);
  checks::same_dtype("a", a, "b", b);
  checks::not_negative("rtol", rtol);
  checks::not_negative("atol", atol);
  NoGradGuard no_grad;
  amp::AutocastOff no_autocast;
  Tensor close = eq(a, b);
  if (!a.is_floating_point() && rtol == 0 && atol == 0) return close;
  if (equal_nan && a.is_floating_point()) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  const bool integers = !a.is_floating_point();
  const Tensor x = integers ? to(a, kDouble) : a, y = integers ? to(b, kDouble) : b;
  const Tensor error = abs(sub(x, y)), allowed = add(abs(mul(y, rtol)), atol);
  return logical_or(close, logical_and(isfinite(error), le(error, allowed)));
}
TANDEM_OPS bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const OpScope op("allclose");
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}
TANDEM_OPS bool equal(const Tensor& a, const Tensor& b) {
  const OpScope op("equal");
  detail::check_operands(a, b);
  detail::check_devices({&a, &b});
  return a.sizes() == b.sizes() && all(eq(a, b)).item<bool>();
}

}  // namespace tandem
