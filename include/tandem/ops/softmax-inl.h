#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/softmax.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns `x`, or if its rank is 0, `view`, which becomes a view of it as [1] without history: kernels that work along
/// a dimension need one. The result is valid within the full expression.
inline const Tensor& with_a_dim(const Tensor& x, Tensor&& view = Tensor()) {
  if (x.dim() > 0) return x;
  view = make_view(x, {1}, {1}, x.storage_offset());
  return view;
}

template <FixedString Name, class D>
Tensor softmax_op(const Op<Name>& op, const Tensor& x, int64_t dim, std::optional<DType> dtype, bool log,
                  D derivative) {
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim());
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const DType t = dtype.value_or(x.dtype());
        TANDEM_CHECK(is_differentiable(t), DTypeError,
                     "x is {} and the result would be {}; pass a floating dtype, or convert x with .to(kFloat)",
                     checks::show(x), tandem::name(t));
        const bool widens = x.is_floating_point() && promote_types(x.dtype(), t) == t;
        const Tensor in = widens ? x : to(x, t);
        Tensor y = empty_like(in, t);
        if (y.numel() > 0) backend(x).softmax(with_a_dim(y), with_a_dim(in), d, log);
        return Result{y, save(y),
                      [d, derivative](const Backward& b) -> Grads { return {derivative(b.grad(), b.saved(0), d)}; }};
      },
      x, dtype);
}

/// second(ggx, gy, y, d) -> d/dy, in differentiable ops.
template <FixedString Name, class D>
Tensor softmax_backward_op(const Op<Name>& op, const Tensor& gy, const Tensor& y, int64_t dim, bool log, D second) {
  checks::floating("gy", gy);
  checks::floating("y", y);
  checks::sizes("gy", gy, y.sizes());
  checks::same_dtype("gy", gy, "y", y);
  const int64_t d = wrap_dim(dim, y.dim());
  return op.apply(
      [&](const Tensor& gy, const Tensor& y) {
        Tensor gx = empty_like(y);
        if (y.numel() > 0) backend(y).softmax_backward(with_a_dim(gx), with_a_dim(gy), with_a_dim(y), d, log);
        return Result{gx, save(gy, y), [d, log, second](const Backward& b) -> Grads {
                        const Tensor& g = b.grad();
                        const Tensor y = b.saved(1);
                        Grads grads(2);
                        if (b.needs(0)) {
                          grads[0] = log ? sub(g, sum(mul(g, exp(y)), {d}, true)) : softmax_backward(g, y, d);
                        }
                        if (b.needs(1)) grads[1] = second(g, b.saved(0), y, d);
                        return grads;
                      }};
      },
      gy, y);
}

}  // namespace detail

TANDEM_OPS Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return detail::softmax_op(Op<"softmax">(), x, dim, dtype, false, softmax_backward);
}

TANDEM_OPS Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return detail::softmax_op(Op<"log_softmax">(), x, dim, dtype, true, log_softmax_backward);
}

TANDEM_OPS Tensor softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim) {
  return detail::softmax_backward_op(
      Op<"softmax_backward">(), gy, y, dim, false, [](const Tensor& g, const Tensor& gy, const Tensor& y, int64_t d) {
        return sub(mul(g, sub(gy, sum(mul(gy, y), {d}, true))), mul(gy, sum(mul(g, y), {d}, true)));
      });
}

TANDEM_OPS Tensor log_softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim) {
  return detail::softmax_backward_op(Op<"log_softmax_backward">(), gy, y, dim, true,
                                     [](const Tensor& g, const Tensor& gy, const Tensor& y, int64_t d) {
                                       const Tensor p = exp(y);
                                       // Only exp(y) depends on y, element by element; the sum over gy does not.
                                       return neg(mul(mul(g, p), sum(gy, {d}, true)));
                                     });
}

}  // namespace tandem
