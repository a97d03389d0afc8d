#pragma once
#include <algorithm>
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/math/reduce.h"
#include "tandem/math/unary.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/reduce_forms-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/statistics.h"

namespace tandem {

namespace detail {

/// The dimensions that a reduction removes.
inline Dims reduced_dims(const Dims& kept, const Dims& sizes) {
  Dims dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (kept[d] == 1) dims.push_back(static_cast<int64_t>(d));
  }
  return dims;
}

/// The products of the elements before each element along dimension 0 of a matrix, in log n steps that can be
/// differentiated.
inline Tensor products_before(const Tensor& x) {
  const int64_t n = x.size(0);
  auto shifted = [n](const Tensor& y, int64_t by) {
    const Tensor front = ones({by, y.size(1)}, y.options());
    return cat({front, y.narrow(0, 0, n - by)}, 0);
  };
  Tensor y = shifted(x, 1);
  for (int64_t by = 1; by < n; by *= 2) y = mul(y, shifted(y, by));
  return y;
}

/// The product of all other elements along dimension 0 of a matrix, as differentiable ops.
inline Tensor products_of_others(const Tensor& x) {
  const int64_t n = x.size(0);
  if (n < 2) return ones_like(x.detach());
  const Tensor backwards = arange(n - 1, -1, -1, TensorOptions(kLong).device(x.device()));
  const Tensor after = products_before(x.index_select(0, backwards)).index_select(0, backwards);
  return mul(products_before(x), after);
}

/// The same from a quotient, without a derivative that would be right at zeros.
inline Tensor products_by_division(const Tensor& x) {
  const Tensor zero = eq(x, 0), one = ones({}, x.options());
  const Tensor without = where(zero, one, x);
  const Tensor quotient = div(prod(without, 0, true), without);
  const Tensor other_zeros = sub(sum(zero, {0}, true), to(zero, kLong));
  return where(eq(other_zeros, 0), quotient, zeros({}, x.options()));
}

inline Tensor prod_op(const Op<"prod">& op, const Tensor& x, std::optional<int64_t> dim, bool keepdim,
                      std::optional<DType> dtype) {
  checks::defined("the input", x);
  const int64_t d = dim ? wrap_dim(*dim, x.dim()) : 0;
  const ReducedShape shape = dim && x.dim() > 0 ? reduced_shape(x, {d}, keepdim) : reduced_shape(x, {}, keepdim);
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const DType t = dtype.value_or(x.is_floating_point() ? x.dtype() : kLong);
        ReductionOutput y(shape, x.options().dtype(t));
        backend(x).reduce(y.kept, kernels::Reduction::prod, promote_types(x.dtype(), t) == t ? x : to(x, t));
        return Result{y.result, save(x), [d, whole = !dim, shape](const Backward& b) -> Grads {
                        if (b.saved(0).numel() == 0) return {zeros_like(b.saved(0), b.grad().dtype())};
                        const Tensor x = to(b.saved(0), kDouble);  // the product may be beyond the range of f32
                        // As a matrix whose columns are multiplied up
                        const Tensor rows = whole || x.dim() == 0 ? reshape(x, {-1, 1}) : transpose(x, 0, d);
                        const Tensor columns = reshape(rows, {rows.size(0), x.numel() / rows.size(0)});
                        const Tensor others =
                            GradMode::is_enabled() ? products_of_others(columns) : products_by_division(columns);
                        Tensor slope = reshape(others, rows.sizes());
                        slope = whole || x.dim() == 0 ? reshape(slope, x.sizes()) : transpose(slope, 0, d);
                        const Tensor g = with_shape(b.grad(), shape.kept);
                        return {to(mul(slope, g), b.grad().dtype())};
                      }};
      },
      x, dtype);
}

}  // namespace detail

TANDEM_OPS Tensor prod(const Tensor& x, std::optional<DType> dtype) {
  return detail::prod_op(Op<"prod">(), x, {}, false, dtype);
}
TANDEM_OPS Tensor prod(const Tensor& x, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return detail::prod_op(Op<"prod">(), x, dim, keepdim, dtype);
}

namespace detail {

/// The gradients of the variance and of the deviation y (undefined for the variance) of x.
struct MomentsBackward {
  ReducedShape shape;
  Dims sizes;      // of x
  double divisor;  // of the variance

  MomentsBackward(const ReducedShape& s, const Tensor& x, bool whole, double correction)
      : shape(s), sizes(x.impl().sizes), divisor(static_cast<double>(s.count) - correction) {
    if (whole) divisor = std::max<double>(0, divisor);  // below 0 only along dimensions, as in PyTorch
  }
  Tensor operator()(const Tensor& gy, const Tensor& given, const Tensor& y) const {
    const Tensor x = to(given, checks::sum_dtype(given.dtype()));  // deviations may be beyond the range of f16
    const Tensor centred = sub(x, mean(x, reduced_dims(shape.kept, sizes), true));
    if (!y.defined()) return mul(spread(mul(gy, 2 / divisor), shape.kept, sizes), centred);
    const Tensor deviation = with_shape(y, shape.kept), none = full({}, INFINITY, y.options());
    const Tensor scores = div(centred, where(eq(deviation, 0), none, deviation));
    return mul(spread(div(gy, divisor), shape.kept, sizes), scores);
  }
};

/// The variance, or the deviation if `root`, and the mean, in one pass over x.
template <FixedString Name>
std::tuple<Tensor, Tensor> moments(const Op<Name>& op, const Tensor& x, IntArrayRef dims, std::optional<Scalar> given,
                                   bool keepdim, bool root) {
  const double correction = given.value_or(1).to_double();
  const ReducedShape shape = reduced_shape(x, dims, keepdim);
  check_floating(x);
  const std::vector<Tensor> out = op.apply_n(
      [&](const Tensor& x) {
        const TensorOptions wide = x.options().dtype(checks::sum_dtype(x.dtype()));
        // The variance may be beyond the range of f32 where the deviation is not.
        const Tensor variance = empty(shape.kept, wide.dtype(kDouble)), average = empty(shape.kept, wide);
        backend(x).var_mean(variance, average, x, correction);
        const ReductionOutput y(shape, x.options()), centre(shape, x.options());
        if (root) {
          backend(x).unary(y.kept, kernels::Unary::sqrt, variance, 0, 0);
        } else {
          backend(x).copy(y.kept, variance);
        }
        backend(x).copy(centre.kept, average);
        return Result{
            {y.result, centre.result},
            save(x, y.result),
            [root, gradient = MomentsBackward(shape, x, dims.empty(), correction)](const Backward& b) -> Grads {
              Tensor g, h;
              if (b.grad(0).defined()) g = gradient(b.grad(0), b.saved(0), root ? b.saved(1) : Tensor());
              if (b.grad(1).defined()) {
                const ReducedShape& s = gradient.shape;
                h = spread(div(b.grad(1), s.count), s.kept, gradient.sizes);
              }
              return {g.defined() && h.defined() ? add(g, h) : g.defined() ? g : h};
            }};
      },
      x);
  return {out[0], out[1]};
}

}  // namespace detail

TANDEM_OPS Tensor std(const Tensor& x) { return tandem::std(x, IntArrayRef()); }
TANDEM_OPS Tensor std(const Tensor& x, IntArrayRef dims, std::optional<Scalar> given, bool keepdim) {
  const Op<"std"> op;
  const double correction = given.value_or(1).to_double();
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  detail::check_floating(x);
  return op.apply(
      [&](const Tensor& x) {
        const TensorOptions wide = x.options().dtype(checks::sum_dtype(x.dtype()));
        // The variance may be beyond the range of f32 where the deviation is not.
        const Tensor variance = empty(shape.kept, wide.dtype(kDouble)), average = empty(shape.kept, wide);
        backend(x).var_mean(variance, average, x, correction);
        detail::ReductionOutput y(shape, x.options());
        backend(x).unary(y.kept, kernels::Unary::sqrt, variance, 0, 0);
        return Result{y.result, save(x, y.result),
                      [gradient = detail::MomentsBackward(shape, x, dims.empty(), correction)](
                          const Backward& b) -> Grads { return {gradient(b.grad(), b.saved(0), b.saved(1))}; }};
      },
      x);
}
TANDEM_OPS std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, std::optional<Scalar> correction,
                                               bool keepdim) {
  const OpScope scope("var_mean");
  return detail::moments(Op<"var">(), x, dims, correction, keepdim, false);
}
TANDEM_OPS std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, std::optional<Scalar> correction,
                                               bool keepdim) {
  const OpScope scope("std_mean");
  return detail::moments(Op<"std">(), x, dims, correction, keepdim, true);
}

namespace detail {

template <FixedString Name>
Tensor extreme_over(const Op<Name>& op, const Tensor& x, IntArrayRef dims, bool keepdim, kernels::Reduction kind) {
  const ReducedShape shape = reduced_shape(x, dims, keepdim);
  TANDEM_CHECK(shape.count > 0, ShapeError, "{} has no elements along the dimensions; give at least one",
               checks::show(x));
  return op.apply(
      [&](const Tensor& x) {
        ReductionOutput y(shape, x.options());
        backend(x).reduce(y.kept, kind, x);
        return Result{y.result, save(x, y.result), [shape, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        const Tensor won = eq(b.saved(0), with_shape(b.saved(1), shape.kept));
                        // Counted in a wide dtype; where there is a NaN, 0 / 0 = NaN, as in PyTorch.
                        const DType wide = checks::sum_dtype(b.grad().dtype());
                        const Tensor count = sum(won, reduced_dims(shape.kept, sizes), true, wide);
                        const Tensor share = div(to(with_shape(b.grad(), shape.kept), wide), count);
                        return {mul(to(won, b.grad().dtype()), to(share, b.grad().dtype()))};
                      }};
      },
      x);
}

template <FixedString Name>
Tensor truth_over(const Op<Name>& op, const Tensor& x, IntArrayRef dims, bool keepdim, kernels::Reduction kind) {
  const ReducedShape shape = reduced_shape(x, dims, keepdim);
  return op.apply(
      [&](const Tensor& x) {
        if (dims.empty()) return Result{ne(x, 0)};  // as in PyTorch, unlike the other reductions
        ReductionOutput y(shape, x.options().dtype(kBool));
        backend(x).reduce(y.kept, kind, x);
        return Result{y.result};
      },
      x);
}

/// The dimension as a list; a 0-dim tensor has dimension 0, too.
inline Dims one_dim(const Tensor& x, int64_t dim) {
  checks::defined("the input", x);
  const int64_t d = wrap_dim(dim, x.dim());
  Dims dims;
  if (x.dim() > 0) dims.push_back(d);
  return dims;
}

}  // namespace detail

TANDEM_OPS Tensor amax(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return detail::extreme_over(Op<"amax">(), x, dims, keepdim, kernels::Reduction::max);
}
TANDEM_OPS Tensor amin(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return detail::extreme_over(Op<"amin">(), x, dims, keepdim, kernels::Reduction::min);
}
TANDEM_OPS std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const OpScope op("aminmax");
  const Dims dims = dim ? detail::one_dim(x, *dim) : Dims();
  Tensor smallest = amin(x, dims, keepdim);
  return {smallest, amax(x, dims, keepdim)};
}

TANDEM_OPS Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keepdim) {
  const Op<"logsumexp"> op;
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  return op.apply(
      [&](const Tensor& input) {
        const Tensor x = input.is_floating_point() ? input : to(input, get_default_dtype());
        const DType t = x.dtype();
        const Dims reduced = detail::reduced_dims(shape.kept, x.impl().sizes);
        Tensor y = full(shape.kept, -INFINITY, x.options()), shift;
        if (shape.count > 0 && x.numel() > 0) {
          const Tensor largest = reduced.empty() ? x : amax(x, reduced, true);
          // Finite, so that inf - shift is not NaN. Terms and sums of f16 and bf16 are held in f32.
          shift = to(nan_to_num(largest, NAN), checks::sum_dtype(t));
          const Tensor terms = sub(x, shift).exp_();
          y = add(log(reduced.empty() ? terms : sum(terms, reduced, true)), shift);
        }
        y = to(detail::with_sizes(y.contiguous(), shape.result), t);
        return Result{y, save(input, shift), [shape, reduced](const Backward& b) -> Grads {
                        // Not exp(x - y): a large y has absorbed the logarithm of the sum.
                        const Tensor x = b.saved(0), g = detail::with_shape(b.grad(), shape.kept);
                        if (!b.saved(1).defined()) return {zeros_like(x)};
                        const Tensor terms = exp(sub(x, b.saved(1)));
                        const Tensor total = reduced.empty() ? terms : sum(terms, reduced, true);
                        return {to(mul(div(terms, total), g), x.dtype())};
                      }};
      },
      x);
}

TANDEM_OPS Tensor nansum(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  const Op<"nansum"> op;
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  return op.apply(
      [&](const Tensor& x) {
        const DType t = dtype.value_or(x.is_floating_point() ? x.dtype() : kLong);
        detail::ReductionOutput y(shape, x.options().dtype(t));
        const Tensor numbers = x.is_floating_point() ? where(isnan(x), 0.0, x) : x;
        backend(x).reduce(y.kept, kernels::Reduction::sum, numbers);
        return Result{y.result, save(x), [kept = shape.kept](const Backward& b) -> Grads {
                        const Tensor x = b.saved(0), g = detail::spread(b.grad(), kept, x.impl().sizes);
                        return {where(isnan(x), zeros({}, g.options()), g)};
                      }};
      },
      x);
}
TANDEM_OPS Tensor nanmean(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  const OpScope op("nanmean");
  checks::defined("the input", x);
  detail::check_floating(x);
  const Tensor count = sum(logical_not(isnan(x.detach())), dims, keepdim, kLong);
  return to(div(nansum(x, dims, keepdim, kDouble), count), dtype.value_or(x.dtype()));
}
TANDEM_OPS Tensor count_nonzero(const Tensor& x, IntArrayRef dims) {
  const OpScope op("count_nonzero");
  checks::defined("the input", x);
  return sum(ne(x.detach(), 0), dims, false, kLong);
}

TANDEM_OPS Tensor any(const Tensor& x, int64_t dim, bool keepdim) {
  const Op<"any"> op;
  return detail::truth_over(op, x, detail::one_dim(x, dim), keepdim, kernels::Reduction::any);
}
TANDEM_OPS Tensor any(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return detail::truth_over(Op<"any">(), x, dims, keepdim, kernels::Reduction::any);
}
TANDEM_OPS Tensor all(const Tensor& x, int64_t dim, bool keepdim) {
  const Op<"all"> op;
  return detail::truth_over(op, x, detail::one_dim(x, dim), keepdim, kernels::Reduction::all);
}
TANDEM_OPS Tensor all(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return detail::truth_over(Op<"all">(), x, dims, keepdim, kernels::Reduction::all);
}

}  // namespace tandem
