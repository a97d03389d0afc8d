#pragma once
// Element-wise arithmetic of three tensors: lerp, addcmul, addcdiv.
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/math/ternary.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise_forms-inl.h"

namespace tandem {

using kernels::Ternary;

namespace detail {

/// Runs a kernel of three operands that broadcast.
inline Tensor ternary_kernel(Ternary kernel, const Tensor& a, const Tensor& b, const Tensor& c, DType dtype,
                             double alpha) {
  const Dims sizes = broadcast_shapes(broadcast_shapes(a.sizes(), b.sizes()), c.sizes());
  const Tensor& host_or_not = !a.is_cpu() ? a : (!b.is_cpu() ? b : c);
  const TensorOptions options = TensorOptions(dtype).device(host_or_not.device());
  Tensor y = a.sizes() == IntArrayRef(sizes) ? empty_like(a, options) : empty(sizes, options);
  backend(y).ternary(y, kernel, broadcast_view(a, sizes), broadcast_view(b, sizes), broadcast_view(c, sizes), alpha);
  return y;
}

inline void check_operands(const Tensor& input, const Tensor& a, const Tensor& b) {
  checks::defined("the input", input);
  checks::defined("a", a);
  checks::defined("b", b);
}

/// Throws DTypeError unless the tensors have one floating dtype. A 0-dim weight may have any floating dtype.
inline void check_lerp(const Tensor& start, const Tensor& end, const Tensor* weight) {
  checks::floating("start", start);
  checks::floating("end", end);
  checks::same_dtype("start", start, "end", end);
  if (!weight) return;
  checks::floating("the weight", *weight);
  if (weight->dim() > 0) checks::same_dtype("start", start, "the weight", *weight);
}

}  // namespace detail

TANDEM_OPS Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight) {
  const Op<"lerp"> op;
  detail::check_lerp(start, end, nullptr);
  const double w = weight.to_double();
  return detail::binary_op(
      op, start, end, detail::Keep::nothing,
      [w](const Backward& g, size_t i) { return mul(g.grad(), i == 0 ? 1 - w : w); }, w);
}
TANDEM_OPS Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  const Op<"lerp"> op;
  detail::check_lerp(start, end, &weight);
  return op.apply(
      [](const Tensor& start, const Tensor& end, const Tensor& weight) {
        Tensor y = detail::ternary_kernel(Ternary::lerp, start, end, weight, start.dtype(), 0);
        return Result{y, save(start, end, weight),
                      [ss = start.impl().sizes, se = end.impl().sizes, sw = weight.impl().sizes](const Backward& b) {
                        const Tensor& g = b.grad();
                        const Tensor w = b.saved(2);
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = detail::reduce_to(mul(g, rsub(w, 1)), ss);
                        if (b.needs(1)) grads[1] = detail::reduce_to(mul(g, w), se);
                        if (b.needs(2)) grads[2] = detail::reduce_to(mul(g, sub(b.saved(1), b.saved(0))), sw);
                        return grads;
                      }};
      },
      start, end, weight);
}

TANDEM_OPS Tensor addcmul(const Tensor& input, const Tensor& a, const Tensor& b, Scalar value) {
  const Op<"addcmul"> op;
  detail::check_operands(input, a, b);
  const DType t = result_type({input, a, b});
  detail::refuse_bools(t);
  if (!is_floating_point(t)) {
    TANDEM_CHECK(!value.is_floating_point() || value.to_double() == std::trunc(value.to_double()), DTypeError,
                 "value is {}, but the tensors are integers; use an integer value, or .to(kFloat)", value.to_double());
    if (!detail::fits_double(value)) return add(input, mul(mul(a, b), value));
  }
  return op.apply(
      [&](const Tensor& input, const Tensor& a, const Tensor& b) {
        const DType t = result_type({input, a, b});
        Tensor y = detail::ternary_kernel(Ternary::addcmul, input, a, b, t, value.to_double());
        return Result{y, save(a, b),
                      [value, si = input.impl().sizes, sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) {
                        Grads grads(3);
                        if (g.needs(0)) grads[0] = detail::reduce_to(g.grad(), si);
                        const Tensor scaled = g.needs(1) || g.needs(2) ? mul(g.grad(), value) : Tensor();
                        if (g.needs(1)) grads[1] = detail::reduce_to(mul(scaled, g.saved(1)), sa);
                        if (g.needs(2)) grads[2] = detail::reduce_to(mul(scaled, g.saved(0)), sb);
                        return grads;
                      }};
      },
      input, a, b);
}

TANDEM_OPS Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, Scalar value) {
  const Op<"addcdiv"> op;
  detail::check_operands(input, a, b);
  TANDEM_CHECK(a.is_floating_point() || b.is_floating_point(), DTypeError,
               "divides a {} by b {}, which are integers; convert one of them with .to(kFloat)", checks::show(a),
               checks::show(b));
  return op.apply(
      [&](const Tensor& input, const Tensor& a, const Tensor& b) {
        const DType t = result_type({input, a, b});
        Tensor y = detail::ternary_kernel(Ternary::addcdiv, input, a, b, t, value.to_double());
        return Result{y, save(a, b),
                      [value, si = input.impl().sizes, sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) {
                        Grads grads(3);
                        if (g.needs(0)) grads[0] = detail::reduce_to(g.grad(), si);
                        if (!g.needs(1) && !g.needs(2)) return grads;
                        const Tensor b = g.saved(1), scaled = div(mul(g.grad(), value), b);
                        if (g.needs(1)) grads[1] = detail::reduce_to(scaled, sa);
                        if (g.needs(2)) grads[2] = detail::reduce_to(neg(mul(scaled, div(g.saved(0), b))), sb);
                        return grads;
                      }};
      },
      input, a, b);
}

}  // namespace tandem
