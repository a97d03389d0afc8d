#pragma once
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/reduce.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/reduce_forms-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm_forms-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

TANDEM_OPS Tensor sum(const Tensor& x, std::optional<DType> dtype) { return sum(x, {}, false, dtype); }
TANDEM_OPS Tensor sum(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  const Op<"sum"> op;
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const DType t = dtype.value_or(x.is_floating_point() ? x.dtype() : kLong);
        detail::ReductionOutput y(shape, x.options().dtype(t));
        backend(x).reduce(y.kept, kernels::Reduction::sum, x);
        return Result{y.result, {}, [kept = shape.kept, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        return {detail::spread(b.grad(), kept, sizes)};
                      }};
      },
      x, dtype);
}

namespace detail {

/// The derivative is the same sum in the other direction.
inline Tensor cumsum_op(const Op<"cumsum">& op, const Tensor& x, int64_t d, std::optional<DType> dtype, bool reverse) {
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const DType t = dtype.value_or(x.is_floating_point() ? x.dtype() : kLong);
        Tensor y = empty_like(x, t);
        backend(x).cumsum(y, promote_types(x.dtype(), t) == t ? x : to(x, t), d, reverse);
        return Result{y, {}, [d, reverse](const Backward& b) -> Grads {
                        return {cumsum_op(Op<"cumsum">(), b.grad(), d, {}, !reverse)};
                      }};
      },
      x, dtype);
}

}  // namespace detail

TANDEM_OPS Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const Op<"cumsum"> op;
  checks::defined("x", x);
  return detail::cumsum_op(op, x, wrap_dim(dim, x.dim()), dtype, false);
}

TANDEM_OPS Tensor mean(const Tensor& x, std::optional<DType> dtype) { return mean(x, {}, false, dtype); }
TANDEM_OPS Tensor mean(const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  const Op<"mean"> op;
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  checks::floating_result(x, dtype.value_or(x.dtype()));
  return op.apply(
      [&](const Tensor& x) {
        detail::ReductionOutput y(shape, x.options().dtype(dtype.value_or(x.dtype())));
        backend(x).reduce(y.kept, kernels::Reduction::mean, x);
        return Result{y.result, {}, [shape, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        // Divided before it is expanded: fewer divisions, and no second pass over x's sizes.
                        return {detail::spread(div(b.grad(), shape.count), shape.kept, sizes)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor var(const Tensor& x) { return var(x, IntArrayRef()); }
TANDEM_OPS Tensor var(const Tensor& x, IntArrayRef dims, std::optional<Scalar> given, bool keepdim) {
  const Op<"var"> op;
  const double correction = given.value_or(1).to_double();
  const detail::ReducedShape shape = detail::reduced_shape(x, dims, keepdim);
  detail::check_floating(x);
  return op.apply(
      [&](const Tensor& x) {
        detail::ReductionOutput y(shape, x.options());
        Tensor average = empty(shape.kept, x.options());
        backend(x).var_mean(y.kept, average, x, correction);
        const bool whole = dims.empty();
        return Result{y.result, save(x),
                      [shape, correction, whole, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        const Tensor x = to(b.saved(0), checks::sum_dtype(b.grad().dtype()));
                        Dims reduced;
                        for (size_t d = 0; d < sizes.size(); ++d) {
                          if (shape.kept[d] == 1) reduced.push_back(static_cast<int64_t>(d));
                        }
                        const Tensor centred = sub(x, mean(x, reduced, true));
                        // Below 0 only along dimensions, as in PyTorch: 0 for a single element, not NaN.
                        const double freedom = static_cast<double>(shape.count) - correction;
                        const double divisor = whole ? std::max<double>(0, freedom) : freedom;
                        // The result's gradient is divided, not the deviations, which a large divisor would make
                        // subnormal in f16 before a scaled gradient multiplies them.
                        return {mul(detail::spread(mul(b.grad(), 2 / divisor), shape.kept, sizes), centred)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor norm(const Tensor& x, Scalar p, std::optional<DType> dtype) { return norm(x, p, {}, false, dtype); }
TANDEM_OPS Tensor norm(const Tensor& x, Scalar p, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  return detail::norm_of(Op<"norm">(), x, p.to_double(), dims, keepdim, dtype);
}

namespace detail {

/// max() and min() of all elements.
template <FixedString Name>
Tensor extreme(const Op<Name>& op, const Tensor& x, kernels::Reduction kind) {
  const ReducedShape shape = reduced_shape(x, {}, false);
  TANDEM_CHECK(x.numel() > 0, ShapeError, "{} has no elements; give at least one", checks::show(x));
  return op.apply(
      [&](const Tensor& x) {
        ReductionOutput y(shape, x.options());
        backend(x).reduce(y.kept, kind, x);
        return Result{y.result, save(x, y.result), [](const Backward& b) -> Grads {
                        const Tensor x = b.saved(0), y = b.saved(1);
                        // eq() does not find a NaN, so isnan() looks for it.
                        const Tensor won = logical_or(eq(x, y), logical_and(isnan(x), isnan(y)));
                        // Counted in a wide dtype: f16 counts exactly only to 2^11, and overflows above 65504.
                        const DType wide = checks::sum_dtype(x.dtype());
                        const Tensor share = div(to(b.grad(), wide), sum(won, wide));
                        return {mul(to(won, x.dtype()), to(share, x.dtype()))};
                      }};
      },
      x);
}

/// max(dim) and min(dim): values and indices.
template <FixedString Name>
std::tuple<Tensor, Tensor> extreme_along(const Op<Name>& op, const Tensor& x, int64_t dim, bool keepdim, bool largest) {
  checks::defined("the input", x);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(x.dim() == 0 || x.size(d) > 0, ShapeError, "dimension {} of {} has no elements; give at least one", d,
               checks::show(x));
  if (x.dim() == 0) {
    std::vector<Tensor> out = op.apply_n(
        [](const Tensor& x) {
          return Result{{clone(x), zeros({}, x.options().dtype(kLong))}, {}, [](const Backward& b) -> Grads {
                          return {b.grad()};
                        }};
        },
        x);
    return {out[0], out[1]};
  }
  const ReducedShape shape = reduced_shape(x, {d}, keepdim);
  std::vector<Tensor> out = op.apply_n(
      [&](const Tensor& x) {
        ReductionOutput values(shape, x.options()), indices(shape, x.options().dtype(kLong));
        backend(x).arg_reduce(values.kept, indices.kept, largest, x, d);
        return Result{
            {values.result, indices.result},
            save(indices.result),
            [d, kept = shape.kept, sizes = x.impl().sizes](const Backward& b) -> Grads {
              const Tensor& g = b.grad();
              return {scatter_add(zeros(sizes, g.options()), d, with_shape(b.saved(0), kept), with_shape(g, kept))};
            }};
      },
      x);
  return {out[0], out[1]};
}

template <FixedString Name>
Tensor arg_extreme(const Op<Name>& op, const Tensor& x, std::optional<int64_t> dim, bool keepdim, bool largest) {
  checks::defined("the input", x);
  const int64_t d = dim ? wrap_dim(*dim, x.dim()) : 0;
  const bool flat = !dim || x.dim() == 0;
  TANDEM_CHECK((flat ? x.numel() : x.size(d)) > 0, ShapeError, "{} has no elements{}; give at least one",
               checks::show(x), flat ? "" : fmt::format(" along dimension {}", d));
  const Tensor y = flat ? reshape(x.detach(), {x.numel()}) : x.detach();
  const ReducedShape shape = reduced_shape(y, {d}, keepdim && !flat);
  const Tensor found = op.apply(
      [&](const Tensor& x) {
        ReductionOutput indices(shape, x.options().dtype(kLong));
        backend(x).arg_reduce(Tensor(), indices.kept, largest, x, d);
        return Result{indices.result};
      },
      y);
  return flat && keepdim ? reshape(found, Dims(x.impl().sizes.size(), 1)) : found;
}

template <FixedString Name>
Tensor truth(const Op<Name>& op, const Tensor& x, kernels::Reduction kind) {
  const ReducedShape shape = reduced_shape(x, {}, false);
  return op.apply(
      [&](const Tensor& x) {
        ReductionOutput y(shape, x.options().dtype(kBool));
        backend(x).reduce(y.kept, kind, x);
        return Result{y.result};
      },
      x);
}

}  // namespace detail

TANDEM_OPS Tensor max(const Tensor& x) { return detail::extreme(Op<"max">(), x, kernels::Reduction::max); }
TANDEM_OPS Tensor min(const Tensor& x) { return detail::extreme(Op<"min">(), x, kernels::Reduction::min); }
TANDEM_OPS std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return detail::extreme_along(Op<"max">(), x, dim, keepdim, true);
}
TANDEM_OPS std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return detail::extreme_along(Op<"min">(), x, dim, keepdim, false);
}
TANDEM_OPS Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return detail::arg_extreme(Op<"argmax">(), x, dim, keepdim, true);
}
TANDEM_OPS Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return detail::arg_extreme(Op<"argmin">(), x, dim, keepdim, false);
}
TANDEM_OPS Tensor any(const Tensor& x) { return detail::truth(Op<"any">(), x, kernels::Reduction::any); }
TANDEM_OPS Tensor all(const Tensor& x) { return detail::truth(Op<"all">(), x, kernels::Reduction::all); }

}  // namespace tandem
