#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

// ---- scatter

/// Checks the arguments of a scatter op but src. Returns the wrapped dimension.
inline int64_t check_scatter(const Tensor& x, int64_t dim, const Tensor& index) {
  checks::defined("x", x);
  checks::index("index", index);
  const int64_t d = wrap_dim(dim, x.dim());
  check_fits(index, "x", x.sizes(), x.dtype(), d, true);
  return d;
}

/// scatter of checked arguments; src has the sizes of index, or is a number without a gradient, which broadcasts.
inline Tensor scatter_op(const Tensor& x, int64_t d, const Tensor& index, const Tensor& src) {
  const Op<"scatter"> op;
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& src) {
        const Tensor y = copy_of(x);
        scatter_kernel(y, kernels::Scatter::assign, d, index, src);
        return Result{y, save(index), [d, sizes = src.impl().sizes](const Backward& b) -> Grads {
                        const Tensor index = b.saved(0);
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = scatter(b.grad(), d, index, 0);
                        if (b.needs(2)) grads[2] = with_shape(gather(b.grad(), d, index), sizes);
                        return grads;
                      }};
      },
      x, index, src);
}

// ---- scatter_reduce

enum class Fold : uint8_t { sum, prod, mean, amax, amin };

inline Fold fold_named(std::string_view name, bool with_sum) {
  constexpr std::pair<std::string_view, Fold> folds[] = {
      {"sum", Fold::sum}, {"prod", Fold::prod}, {"mean", Fold::mean}, {"amax", Fold::amax}, {"amin", Fold::amin}};
  for (const auto& [text, fold] : folds) {
    if (text == name && (with_sum || fold != Fold::sum)) return fold;
  }
  TANDEM_THROW(StateError, "reduce = '{}', but must be {}prod, mean, amax or amin", name, with_sum ? "sum, " : "");
}

/// The number that does not change a result, in x's dtype.
inline Tensor neutral(const Tensor& x, Fold fold) {
  if (fold == Fold::sum || fold == Fold::mean) return zeros({}, x.options());
  if (fold == Fold::prod) return ones({}, x.options());
  const bool largest = fold == Fold::amax;
  if (x.is_floating_point()) return full({}, largest ? -INFINITY : INFINITY, x.options());
  if (x.dtype() == kBool) return full({}, !largest, x.options());
  const int bits = static_cast<int>(8 * x.element_size());
  const bool is_unsigned = x.dtype() == kByte;
  const int64_t highest = static_cast<int64_t>(~uint64_t{0} >> (is_unsigned ? 64 - bits : 65 - bits));
  return full({}, Scalar(largest ? (is_unsigned ? 0 : -highest - 1) : highest), x.options());
}

/// How many values each place has, at least 1.
inline Tensor count_places(IntArrayRef sizes, DType dtype, int64_t d, const Tensor& index, bool include_self) {
  const TensorOptions options = TensorOptions(dtype).device(index.device());
  Tensor n = ones(sizes, options);
  if (!include_self) scatter_kernel(n, kernels::Scatter::assign, d, index, zeros({}, options));
  if (index.numel() > 0) {
    const Tensor one = broadcast_view(ones({}, options), index.sizes());
    backend(n).scatter_add(indexed(n), d, indexed(index), indexed(one));
  }
  return n;
}

/// Combines src into y, which holds x's values.
inline void fold_into(const Tensor& y, int64_t d, const Tensor& index, const Tensor& src, Fold fold,
                      bool include_self) {
  if (index.numel() == 0) return;
  if (!include_self) scatter_kernel(y, kernels::Scatter::assign, d, index, neutral(y, fold));
  switch (fold) {
    case Fold::sum:
    case Fold::mean:
      return backend(y).scatter_add(indexed(y), d, indexed(index), indexed(src));
    case Fold::prod:
      return scatter_kernel(y, kernels::Scatter::multiply, d, index, src);
    case Fold::amax:
      return scatter_kernel(y, kernels::Scatter::max, d, index, src);
    case Fold::amin:
      return scatter_kernel(y, kernels::Scatter::min, d, index, src);
  }
}

/// scatter_reduce without a history; src has the sizes of index.
inline Tensor fold_of(const Tensor& x, int64_t d, const Tensor& index, const Tensor& src, Fold fold,
                      bool include_self) {
  const bool in_f32 = is_reduced_floating_point(x.dtype()) && fold != Fold::amax && fold != Fold::amin;
  Tensor y = empty_like(x, in_f32 ? kFloat : x.dtype());
  backend(y).copy(y, x);
  fold_into(y, d, index, src, fold, include_self);
  if (fold == Fold::mean) {
    const DType exact = x.is_floating_point() ? y.dtype() : kDouble;
    y = div(to(y, exact), count_places(x.sizes(), exact, d, index, include_self));
    if (!x.is_floating_point()) y = floor(y);
  }
  return to(y, x.dtype());
}

/// The gradients of x and src. Equal extremes share the gradient. For a product it does not divide by 0, but counts the
/// zeros among the factors: the gradient of a factor is 0 if another one is 0.
inline Grads fold_backward(const Backward& b, int64_t d, Fold fold, bool include_self) {
  const Tensor g = b.grad(), x = b.saved(0), index = b.saved(1), src = b.saved(2), y = b.saved(3);
  const auto add_up = [&](const Tensor& into, const Tensor& terms) {
    return scatter_add_op(into, into.impl().sizes, d, index, terms);
  };
  const auto at_index = [&](const Tensor& t) { return gather(t, d, index); };
  Grads grads(3);
  Tensor gx, gsrc;
  switch (fold) {
    case Fold::sum:
      gx = g;
      if (b.needs(2)) gsrc = at_index(g);
      break;
    case Fold::mean: {
      gx = div(g, count_places(g.sizes(), g.dtype() == kDouble ? kDouble : kFloat, d, index, include_self));
      gx = to(gx, g.dtype());
      if (b.needs(2)) gsrc = at_index(gx);
      break;
    }
    case Fold::prod: {
      if (b.needs(0)) gx = mul(g, scatter_reduce(ones_like(x), d, index, src, "prod"));
      if (!b.needs(2)) break;
      const Tensor is_zero = eq(src, 0), factors = where(is_zero, 1, src), zero = to(is_zero, src.dtype());
      const Tensor product = scatter_reduce(x, d, index, factors, "prod", include_self);
      const Tensor others = sub(at_index(add_up(zeros_like(x), zero)), zero);  // zeros among the other factors
      gsrc = where(eq(others, 0), div(at_index(mul(g, product)), factors), 0);
      break;
    }
    case Fold::amax:
    case Fold::amin: {
      Tensor is_x = to(eq(x, y), g.dtype());
      if (!include_self) is_x = scatter(is_x, d, index, 0);
      const Tensor is_src = to(eq(src, at_index(y)), g.dtype());
      const Tensor share = div(g, maximum(add_up(is_x, is_src), ones({}, g.options())));
      gx = mul(share, is_x);
      if (b.needs(2)) gsrc = mul(at_index(share), is_src);
      break;
    }
  }
  if (b.needs(0)) grads[0] = include_self ? gx : scatter(gx, d, index, 0);
  grads[2] = gsrc;
  return grads;
}

/// scatter_reduce of checked arguments; src has the sizes of index.
inline Tensor scatter_reduce_op(const Tensor& x, int64_t d, const Tensor& index, const Tensor& src, Fold fold,
                                bool include_self) {
  const Op<"scatter_reduce"> op;
  const Tensor k = beside(x, index), terms = beside(x, src);
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& src) {
        const Tensor y = fold_of(x, d, index, src, fold, include_self);
        return Result{y, save(x, index, src, y),
                      [=](const Backward& b) { return fold_backward(b, d, fold, include_self); }};
      },
      x, k, terms);
}

/// Checks src, and a dtype for which the reduction is defined.
inline void check_fold(const char* which, const Tensor& x, const Tensor& index, const Tensor& src, int64_t d,
                       Fold fold) {
  checks::defined("src", src);
  check_fits(index, "src", src.sizes(), src.dtype(), d, false);
  checks::same_dtype(which, x, "src", src);
  TANDEM_CHECK(fold != Fold::mean || x.dtype() != kBool, DTypeError,
               "the mean of {} {} is not defined; convert it with .to(kFloat)", which, checks::show(x));
}

inline const Tensor& scatter_reduce_in_place(const OpScope& op, const Tensor& self, int64_t d, const Tensor& index,
                                             const Tensor& src, Fold fold, bool include_self) {
  check_devices({&self, &index, &src});
  return apply_in_place(
      op, self, {index, src},
      [&](const Tensor& y) {
        const Tensor part = beside(y, apart(y, covered(src, index))), k = beside(y, apart(y, index));
        if (fold == Fold::mean || is_reduced_floating_point(y.dtype())) {
          backend(y).copy(y, fold_of(y, d, k, part, fold, include_self));
        } else {
          fold_into(y, d, k, part, fold, include_self);
        }
      },
      [&](const Tensor& old) { return scatter_reduce_op(old, d, index, covered(src, index), fold, include_self); });
}

/// The reductions of scatter's `reduce` argument.
inline Fold scatter_fold(std::string_view reduce) {
  TANDEM_CHECK(reduce == "add" || reduce == "multiply", StateError,
               "reduce = '{}', but must be add or multiply; scatter_reduce has more reductions", reduce);
  return reduce == "add" ? Fold::sum : Fold::prod;
}

// ---- slices

/// Checks index and source of index_copy and index_reduce. Returns the wrapped dimension.
inline int64_t check_slices(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  checks::defined("x", x);
  checks::index("index", index);
  checks::defined("source", source);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(index.dim() <= 1, ShapeError, "index is {}, but must have rank 1; flatten() it", checks::show(index));
  TANDEM_CHECK(x.dim() > 0 || index.numel() == 1, ShapeError, "index is {}, but x has rank 0; give one entry",
               checks::show(index));
  if (x.dim() > 0 || source.numel() != 1) checks::sizes("source", source, with_size(x.sizes(), d, index.numel()));
  return d;
}

/// An index of slices along `d` as one of elements, of the sizes of `like`.
inline Tensor index_of_slices(const Tensor& index, const Tensor& like, int64_t d) {
  if (like.dim() == 0) return make_view(index, {}, {}, index.storage_offset());
  Dims strides(like.sizes().size(), 0);
  if (index.dim() > 0) strides[static_cast<size_t>(d)] = index.strides()[0];
  return make_view(index, like.impl().sizes, strides, index.storage_offset());
}

/// y's slices are overwritten with source's.
inline void copy_slices(const Tensor& y, int64_t d, const Tensor& index, const Tensor& source) {
  const Tensor rows = source.dim() == y.dim() ? source : make_view(source, {}, {}, source.storage_offset());
  scatter_kernel(y, kernels::Scatter::assign, d, index_of_slices(index, rows, d), rows);
}

/// y's slices are filled; negative indices count from the end. value: rank 0, y's dtype and device.
inline void fill_slices(const Tensor& y, int64_t d, const Tensor& index, const Tensor& value) {
  if (index.numel() == 0) return;
  const Tensor places = empty(index.sizes(), index.options().dtype(kLong));
  backend(y).index_offsets(places, index, d, size_or_one(y, d), 1, false);
  const Tensor area = y.dim() == 0 ? y : broadcast_view(value, with_size(y.sizes(), d, index.numel()));
  if (area.numel() > 0) scatter_kernel(y, kernels::Scatter::assign, d, index_of_slices(places, area, d), value);
}

inline Tensor index_fill_op(const Tensor& x, int64_t d, const Tensor& index, const Tensor& value) {
  const Op<"index_fill"> op;
  const Tensor k = beside(x, index);
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& value) {
        const Tensor y = copy_of(x);
        fill_slices(y, d, index, value);
        return Result{y, save(index), [d](const Backward& b) -> Grads {
                        const Tensor g = b.grad(), index = b.saved(0);
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = index_fill(g, d, index, 0);
                        if (b.needs(2)) {
                          // Repeated slices count once.
                          const Tensor hits = index_fill(zeros_like(g), d, index, 1);
                          grads[2] = sum(mul(g, hits));
                        }
                        return grads;
                      }};
      },
      x, k, value);
}

inline int64_t check_index_fill(const Tensor& x, int64_t dim, const Tensor& index) {
  checks::defined("x", x);
  checks::index("index", index);
  TANDEM_CHECK(index.dim() <= 1, ShapeError, "index is {}, but must have rank 1; flatten() it", checks::show(index));
  return wrap_dim(dim, x.dim());
}

inline const Tensor& index_fill_in_place(const OpScope& op, const Tensor& self, int64_t d, const Tensor& index,
                                         const Tensor& value) {
  check_devices({&self, &index});
  return apply_in_place(
      op, self, {&value, 1}, [&](const Tensor& y) { fill_slices(y, d, beside(y, apart(y, index)), apart(y, value)); },
      [&](const Tensor& old) { return index_fill_op(old, d, index, value); });
}

}  // namespace detail

// ---- scatter

TANDEM_OPS Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  const OpScope op("scatter");
  const int64_t d = detail::check_scatter(x, dim, index);
  checks::defined("src", src);
  detail::check_fits(index, "src", src.sizes(), src.dtype(), d, false);
  checks::same_dtype("x", x, "src", src);
  return detail::scatter_op(x, d, detail::beside(x, index), detail::beside(x, detail::covered(src, index)));
}

TANDEM_OPS Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  const OpScope op("scatter");
  const int64_t d = detail::check_scatter(x, dim, index);
  return detail::scatter_op(x, d, detail::beside(x, index), detail::number_like(x, value));
}

TANDEM_OPS Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce) {
  const OpScope op("scatter");
  const detail::Fold fold = detail::scatter_fold(reduce);
  const int64_t d = detail::check_scatter(x, dim, index);
  detail::check_fold("x", x, index, src, d, fold);
  return detail::scatter_reduce_op(x, d, index, detail::covered(src, index), fold, true);
}

TANDEM_OPS Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) {
  const OpScope op("scatter");
  const detail::Fold fold = detail::scatter_fold(reduce);
  const int64_t d = detail::check_scatter(x, dim, index);
  return detail::scatter_reduce_op(x, d, index, expand(detail::number_like(x, value), index.sizes()), fold, true);
}

TANDEM_OPS const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const OpScope op("scatter_");
  const int64_t d = detail::check_scatter(self, dim, index);
  checks::defined("src", src);
  detail::check_fits(index, "src", src.sizes(), src.dtype(), d, false);
  checks::same_dtype("self", self, "src", src);
  detail::check_devices({&self, &index, &src});
  return apply_in_place(
      op, self, {&src, 1},
      [&](const Tensor& y) {
        detail::scatter_kernel(y, kernels::Scatter::assign, d, detail::beside(y, detail::apart(y, index)),
                               detail::beside(y, detail::apart(y, detail::covered(src, index))));
      },
      [&](const Tensor& old) { return scatter(old, d, index, src); });
}

TANDEM_OPS const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) {
  const OpScope op("scatter_");
  const int64_t d = detail::check_scatter(self, dim, index);
  detail::check_devices({&self, &index});
  const Tensor number = detail::number_like(self, value);
  return apply_in_place(
      op, self, {},
      [&](const Tensor& y) {
        detail::scatter_kernel(y, kernels::Scatter::assign, d, detail::beside(y, detail::apart(y, index)), number);
      },
      [&](const Tensor& old) { return detail::scatter_op(old, d, detail::beside(old, index), number); });
}

TANDEM_OPS const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                  std::string_view reduce) {
  const OpScope op("scatter_");
  const detail::Fold fold = detail::scatter_fold(reduce);
  const int64_t d = detail::check_scatter(self, dim, index);
  detail::check_fold("self", self, index, src, d, fold);
  return detail::scatter_reduce_in_place(op, self, d, index, src, fold, true);
}

TANDEM_OPS const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value,
                                  std::string_view reduce) {
  const OpScope op("scatter_");
  const detail::Fold fold = detail::scatter_fold(reduce);
  const int64_t d = detail::check_scatter(self, dim, index);
  const Tensor src = expand(detail::number_like(self, value), index.sizes());
  return detail::scatter_reduce_in_place(op, self, d, index, src, fold, true);
}

TANDEM_OPS Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                                 std::string_view reduce, bool include_self) {
  const OpScope op("scatter_reduce");
  const detail::Fold fold = detail::fold_named(reduce, true);
  const int64_t d = detail::check_scatter(x, dim, index);
  detail::check_fold("x", x, index, src, d, fold);
  return detail::scatter_reduce_op(x, d, index, detail::covered(src, index), fold, include_self);
}

TANDEM_OPS const Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                         std::string_view reduce, bool include_self) {
  const OpScope op("scatter_reduce_");
  const detail::Fold fold = detail::fold_named(reduce, true);
  const int64_t d = detail::check_scatter(self, dim, index);
  detail::check_fold("self", self, index, src, d, fold);
  return detail::scatter_reduce_in_place(op, self, d, index, src, fold, include_self);
}

// ---- slices

TANDEM_OPS Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const Op<"index_copy"> op;
  const int64_t d = detail::check_slices(x, dim, index, source);
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& source) {
        checks::same_dtype("x", x, "source", source);
        const Tensor y = detail::copy_of(x);
        detail::copy_slices(y, d, detail::beside(y, index), detail::beside(y, source));
        return Result{y, save(index), [d, sizes = source.impl().sizes](const Backward& b) -> Grads {
                        const Tensor index = detail::beside(b.grad(), b.saved(0));
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = index_fill(b.grad(), d, index, 0);
                        if (b.needs(2)) grads[2] = detail::with_shape(index_select(b.grad(), d, index), sizes);
                        return grads;
                      }};
      },
      x, index, source);
}

TANDEM_OPS const Tensor& index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const OpScope op("index_copy_");
  const int64_t d = detail::check_slices(self, dim, index, source);
  checks::same_dtype("self", self, "source", source);
  detail::check_devices({&self, &index, &source});
  return apply_in_place(
      op, self, {&source, 1},
      [&](const Tensor& y) {
        detail::copy_slices(y, d, detail::beside(y, detail::apart(y, index)),
                            detail::beside(y, detail::apart(y, source)));
      },
      [&](const Tensor& old) { return index_copy(old, d, index, source); });
}

TANDEM_OPS Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  const OpScope op("index_fill");
  const int64_t d = detail::check_index_fill(x, dim, index);
  return detail::index_fill_op(x, d, index, detail::number_like(x, value));
}
TANDEM_OPS Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  const OpScope op("index_fill");
  const int64_t d = detail::check_index_fill(x, dim, index);
  return detail::index_fill_op(x, d, index, detail::number_for(x, value));
}
TANDEM_OPS const Tensor& index_fill_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) {
  const OpScope op("index_fill_");
  const int64_t d = detail::check_index_fill(self, dim, index);
  return detail::index_fill_in_place(op, self, d, index, detail::number_like(self, value));
}
TANDEM_OPS const Tensor& index_fill_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  const OpScope op("index_fill_");
  const int64_t d = detail::check_index_fill(self, dim, index);
  return detail::index_fill_in_place(op, self, d, index, detail::number_for(self, value));
}

TANDEM_OPS Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                               std::string_view reduce, bool include_self) {
  const OpScope op("index_reduce");
  const detail::Fold fold = detail::fold_named(reduce, false);
  const int64_t d = detail::check_slices(x, dim, index, source);
  const Tensor rows = detail::with_shape(source, detail::with_size(x.sizes(), d, index.numel()));
  const Tensor places = detail::index_of_slices(index, rows, d);
  detail::check_fold("x", x, places, rows, d, fold);
  return detail::scatter_reduce_op(x, d, places, rows, fold, include_self);
}

TANDEM_OPS const Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                                       std::string_view reduce, bool include_self) {
  const OpScope op("index_reduce_");
  const detail::Fold fold = detail::fold_named(reduce, false);
  const int64_t d = detail::check_slices(self, dim, index, source);
  const Tensor rows = detail::with_shape(source, detail::with_size(self.sizes(), d, index.numel()));
  const Tensor places = detail::index_of_slices(index, rows, d);
  detail::check_fold("self", self, places, rows, d, fold);
  return detail::scatter_reduce_in_place(op, self, d, places, rows, fold, include_self);
}

}  // namespace tandem
