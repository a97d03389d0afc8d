#pragma once
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// cumsum in the other direction: x_i + ... + x_(n - 1).
inline Tensor sum_from(const Tensor& x, int64_t d) {
  return Op<"cumsum">().apply(
      [&](const Tensor& x) {
        const Tensor y = empty_like(x);
        backend(x).cumsum(y, x, d, true);
        return Result{y, {}, [d](const Backward& b) -> Grads { return {cumsum(b.grad(), d)}; }};
      },
      x);
}

/// dL/dx of y = cumprod(x) as sums of products without division, for any number of zeros: n times the work and memory.
/// Each of the n slices has one x_k replaced by 1, so that the products after it lack that factor.
inline Tensor cumprod_slope_of_any(const Tensor& g, const Tensor& x, int64_t d) {
  const int64_t n = x.dim() == 0 ? 1 : x.size(d);
  const Tensor rows = x.dim() == 0 ? reshape(x, {1}) : x;
  Dims sizes(static_cast<size_t>(rows.dim()) + 1, 1);
  sizes[0] = n;
  const Tensor left_out = reshape(arange(n, TensorOptions(kLong).device(x.device())), sizes);  // k
  sizes[0] = 1;
  sizes[static_cast<size_t>(d) + 1] = n;
  const Tensor place = reshape(arange(n, TensorOptions(kLong).device(x.device())), sizes);  // j
  const Tensor products = cumprod(where(eq(left_out, place), ones({}, x.options()), unsqueeze(rows, 0)), d + 1);
  const Tensor terms = mul(unsqueeze(reshape(g, rows.sizes()), 0), products);
  const Tensor of_k = sum(where(ge(place, left_out), terms, zeros({}, terms.options())), {d + 1}, true, g.dtype());
  return reshape(squeeze(transpose(of_k, 0, d + 1), 0), x.sizes());
}

/// dL/dx of y = cumprod(x): sums of g y up to the end, divided by x. At the first zero of a row, where that is 0 / 0,
/// the products are those of x with a 1 in its place; after it, the gradient is 0.
inline Tensor cumprod_slope(const Tensor& g, const Tensor& x, const Tensor& y, int64_t d) {
  const Tensor zero = eq(x, 0);
  if (GradMode::is_enabled() && any(zero).item<bool>()) return cumprod_slope_of_any(g, x, d);
  const Tensor count = cumsum(zero, d), nothing = zeros({}, x.options()), one = ones({}, x.options());
  const Tensor before = eq(count, 0), at_first = logical_and(zero, eq(count, 1));
  const Tensor divided = div(sum_from(mul(g, y), d), where(zero, one, x));
  const Tensor replaced = sum_from(mul(g, cumprod(where(at_first, one, x), d)), d);
  return where(before, divided, where(at_first, replaced, nothing));
}

/// The kernel of a scan, into a new tensor of `dtype`.
inline Tensor scan_kernel(kernels::Scan kind, const Tensor& x, int64_t d, DType dtype, bool reverse = false,
                          const Tensor& indices = {}) {
  const Tensor y = empty_like(x, dtype);
  backend(x).scan(y, indices, kind, promote_types(x.dtype(), dtype) == dtype ? x : to(x, dtype), d, reverse);
  return y;
}

template <FixedString Name>
std::tuple<Tensor, Tensor> running_extreme(const Op<Name>& op, const Tensor& x, int64_t dim, kernels::Scan kind) {
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim());
  std::vector<Tensor> out = op.apply_n(
      [&](const Tensor& x) {
        const Tensor indices = empty_like(x, kLong);
        const Tensor values = scan_kernel(kind, x, d, x.dtype(), false, indices);
        return Result{{values, indices}, save(indices), [d, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        return {gather_backward(b.grad(), sizes, d, b.saved(0))};
                      }};
      },
      x);
  return {out[0], out[1]};
}

inline Tensor logcumsumexp_op(const Op<"logcumsumexp">& op, const Tensor& x, int64_t d, bool reverse) {
  return op.apply(
      [&](const Tensor& x) {
        const Tensor y = scan_kernel(kernels::Scan::logaddexp, x, d, x.dtype(), reverse);
        return Result{y, save(x), [d, reverse](const Backward& b) -> Grads {
                        // gx_i = e^x_i sum(g_j e^-y_j) over the j whose sums contain x_i, with the sums of positive and
                        // of negative terms as logarithms, since the factors alone may overflow. In f64: a large y_j in
                        // f32 has absorbed the logarithm of its sum.
                        const Tensor g = to(b.grad(), kDouble), x = to(b.saved(0), kDouble);
                        const Tensor y = logcumsumexp_op(Op<"logcumsumexp">(), x, d, reverse);
                        const Tensor none = full({}, -INFINITY, g.options()), one = ones({}, g.options());
                        const Tensor nothing = zeros({}, g.options());
                        const Tensor reached = ne(y, -INFINITY), level = where(reached, y, nothing);
                        const auto part = [&](const Tensor& size) {
                          const Tensor has = logical_and(reached, gt(size, 0));
                          const Tensor terms = where(has, sub(log(where(has, size, one)), level), none);
                          return exp(add(logcumsumexp_op(Op<"logcumsumexp">(), terms, d, !reverse), x));
                        };
                        return {to(sub(part(g), part(neg(g))), b.saved(0).dtype())};
                      }};
      },
      x);
}

/// Checks y and x of the trapezoidal rule. Returns the wrapped dimension.
inline int64_t check_samples(const Tensor& y, int64_t dim) {
  checks::defined("y", y);
  TANDEM_CHECK(y.dim() > 0, ShapeError, "y is {}, but must have at least rank 1", checks::show(y));
  checks::not_bool(y);
  return wrap_dim(dim, y.dim());
}
/// x_(i + 1) - x_i, as an operand of the same rank as y or less.
inline Tensor widths(const Tensor& y, const Tensor& x, int64_t d) {
  checks::defined("x", x);
  const bool is_row = x.dim() == 1;
  TANDEM_CHECK(is_row || x.dim() == y.dim(), ShapeError, "x is {}, but y is {}; x must have rank 1 or the rank of y",
               checks::show(x), checks::show(y));
  TANDEM_CHECK(x.size(is_row ? 0 : d) == y.size(d), ShapeError,
               "x is {}, but y is {} and dim is {}; x must have one entry per sample of y", checks::show(x),
               checks::show(y), d);
  Tensor step = diff(x, 1, is_row ? 0 : d);
  if (!is_row) return step;
  Dims sizes(static_cast<size_t>(y.dim()), 1);
  sizes[static_cast<size_t>(d)] = step.size(0);
  return view(step, sizes);
}
/// y_i + y_(i + 1).
inline Tensor neighbour_sums(const Tensor& samples, int64_t d) {
  const Tensor y = is_integral(samples.dtype(), true) ? to(samples, kLong) : samples;
  const int64_t n = std::max<int64_t>(y.size(d) - 1, 0);
  return add(narrow(y, d, y.size(d) - n, n), narrow(y, d, 0, n));
}
/// (dx / 2) s, as floating numbers.
inline Tensor half_of(const Tensor& s, Scalar dx = 1) {
  return dx.is_floating_point() || dx.to_int64() != 1 ? mul(div(s, 2), dx) : div(s, 2);
}

}  // namespace detail

TANDEM_OPS Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const Op<"cumprod"> op;
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim());
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const DType t = dtype.value_or(x.is_floating_point() ? x.dtype() : kLong);
        const Tensor y = detail::scan_kernel(kernels::Scan::prod, x, d, t);
        return Result{y, save(x, y), [d](const Backward& b) -> Grads {
                        const Tensor x = to(b.saved(0), b.grad().dtype());
                        return {detail::cumprod_slope(b.grad(), x, b.saved(1), d)};
                      }};
      },
      x, dtype);
}

TANDEM_OPS std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return detail::running_extreme(Op<"cummax">(), x, dim, kernels::Scan::max);
}
TANDEM_OPS std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return detail::running_extreme(Op<"cummin">(), x, dim, kernels::Scan::min);
}

TANDEM_OPS Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  const Op<"logcumsumexp"> op;
  checks::floating("x", x);
  return detail::logcumsumexp_op(op, x, wrap_dim(dim, x.dim()), false);
}

TANDEM_OPS Tensor diff(const Tensor& x, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  const OpScope op("diff");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() > 0, ShapeError, "x is {}, but must have at least rank 1", checks::show(x));
  TANDEM_CHECK(n >= 0, StateError, "n = {}, but must be at least 0", n);
  const int64_t d = wrap_dim(dim, x.dim());
  const auto check_joined = [&](const char* which, const Tensor& part) {
    TANDEM_CHECK(!part.defined() || part.dim() == x.dim(), ShapeError,
                 "{} is {}, but x is {}; it must have the same rank", which, checks::show(part), checks::show(x));
  };
  check_joined("prepend", prepend);
  check_joined("append", append);
  if (n == 0) return clone(x);  // without prepend and append, as in PyTorch
  Tensor y = x;
  if (prepend.defined() || append.defined()) {
    std::vector<Tensor> parts;
    if (prepend.defined()) parts.push_back(prepend);
    parts.push_back(x);
    if (append.defined()) parts.push_back(append);
    y = cat(parts, d);
  }
  if (n >= y.size(d)) return clone(narrow(y, d, 0, 0));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t rest = y.size(d) - 1;
    const Tensor next = narrow(y, d, 1, rest), last = narrow(y, d, 0, rest);
    y = y.dtype() == kBool ? logical_xor(next, last) : sub(next, last);
  }
  return y;
}

TANDEM_OPS Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const OpScope op("trapezoid");
  const int64_t d = detail::check_samples(y, dim);
  return detail::half_of(sum(mul(detail::widths(y, x, d), detail::neighbour_sums(y, d)), {d}));
}
TANDEM_OPS Tensor trapezoid(const Tensor& y, Scalar dx, int64_t dim) {
  const OpScope op("trapezoid");
  const int64_t d = detail::check_samples(y, dim);
  return detail::half_of(sum(detail::neighbour_sums(y, d), {d}), dx);
}
TANDEM_OPS Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const OpScope op("cumulative_trapezoid");
  const int64_t d = detail::check_samples(y, dim);
  return detail::half_of(cumsum(mul(detail::widths(y, x, d), detail::neighbour_sums(y, d)), d));
}
TANDEM_OPS Tensor cumulative_trapezoid(const Tensor& y, Scalar dx, int64_t dim) {
  const OpScope op("cumulative_trapezoid");
  const int64_t d = detail::check_samples(y, dim);
  return detail::half_of(cumsum(detail::neighbour_sums(y, d), d), dx);
}

namespace detail {

/// The powers 1, x, ..., x^(n - 1) along a new last dimension; n > 0.
inline Tensor powers_of(const Tensor& x, int64_t n) {
  Dims sizes = x.impl().sizes;
  sizes.push_back(n - 1);
  const Tensor powers = cumprod(expand(unsqueeze(x, -1), sizes), -1);
  sizes.back() = 1;
  return cat({ones(sizes, powers.options()), powers}, -1);
}

}  // namespace detail

TANDEM_OPS Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  const OpScope op("vander");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() == 1, ShapeError, "x is {}, but must have rank 1; flatten() it", checks::show(x));
  const int64_t columns = n.value_or(x.numel());
  TANDEM_CHECK(columns >= 0, StateError, "n = {}, but must be at least 0", columns);
  if (columns == 0) return empty({x.numel(), 0}, x.options().dtype(x.is_floating_point() ? x.dtype() : kLong));
  const Tensor y = detail::powers_of(x, columns);
  return increasing ? y : flip(y, {1});
}
TANDEM_OPS Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n) {
  const OpScope op("linalg_vander");
  checks::defined("x", x);
  checks::not_bool(x);
  const Tensor values = x.dim() == 0 ? reshape(x, {1}) : x;
  const int64_t columns = n.value_or(values.size(-1));
  TANDEM_CHECK(columns >= 2, StateError, "n = {}, but must be at least 2", columns);
  return detail::powers_of(values, columns);
}

}  // namespace tandem
