#pragma once
#include <algorithm>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/diagonal.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scatter_view-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/triangle-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

template <FixedString Name>
Tensor triangle_op(const Op<Name>& op, const Tensor& x, int64_t k, bool lower) {
  check_matrices(x);
  return op.apply(
      [&](const Tensor& x) {
        const Tensor y = empty_like(x);
        keep_triangle(y, x, k, lower);
        return Result{
            y, {}, [k, lower](const Backward& b) -> Grads { return {triangle_op(Op<Name>(), b.grad(), k, lower)}; }};
      },
      x);
}

/// The indices of the elements of a triangle.
inline Tensor triangle_indices(int64_t n, int64_t m, int64_t offset, const TensorOptions& options, bool lower) {
  TANDEM_CHECK(n >= 0 && m >= 0, ShapeError, "[{}, {}] has a negative size; sizes must be at least 0", n, m);
  const DType dtype = options.has_dtype() ? options.dtype() : kLong;
  TANDEM_CHECK(dtype == kLong || dtype == kInt, DTypeError, "indices must be i64 or i32, not {}; change the options",
               tandem::name(dtype));
  const int64_t k = clamped_offset(offset, n, m);
  const auto begin = [&](int64_t i) { return lower ? 0 : std::clamp<int64_t>(i + k, 0, m); };
  const auto end = [&](int64_t i) { return lower ? std::clamp<int64_t>(i + k + 1, 0, m) : m; };
  // Rows `first` to `last` - 1 are cut by the diagonal; of the others, those on one side are empty, those on the other
  // whole. Only rows that have elements are visited: n may be huge.
  const int64_t first = std::max<int64_t>(0, -k), last = m - n <= k ? std::max(first, m - k) : n, cut = last - first;
  const Checked pairs = cut % 2 == 0 ? Checked(cut / 2) * (cut - 1) : Checked(cut) * ((cut - 1) / 2);
  Checked count = Checked(lower ? n - last : first) * m;
  if (m > 0 && cut > 0) count = count + Checked(cut) * (lower ? first + k + 1 : m - last - k + 1) + pairs;
  const int64_t from = lower ? first : 0, to_row = lower ? n : last;
  TANDEM_CHECK(count.fits(), ShapeError, "[{}, {}] has more elements than int64 can count; use a smaller matrix", n, m);
  const Tensor indices = empty({2, *count.value()}, TensorOptions(kLong).device(kCPU));
  int64_t* rows = indices.raw<int64_t>();
  int64_t* columns = rows + *count.value();
  for (int64_t i = from; m > 0 && i < to_row; ++i) {
    for (int64_t j = begin(i); j < end(i); ++j) {
      *rows++ = i;
      *columns++ = j;
    }
  }
  return to(indices, options.device(), dtype);
}

/// Two different dimensions of a tensor of this rank.
inline std::pair<int64_t, int64_t> two_dims(int64_t dim1, int64_t dim2, int64_t rank) {
  const int64_t a = wrap_dim(dim1, rank), b = wrap_dim(dim2, rank);
  TANDEM_CHECK(a != b, ShapeError, "dim1 = {} and dim2 = {} are the same dimension; give two different ones", dim1,
               dim2);
  return {a, b};
}

}  // namespace detail

TANDEM_OPS Tensor tril(const Tensor& x, int64_t diagonal) {
  return detail::triangle_op(Op<"tril">(), x, diagonal, true);
}
TANDEM_OPS Tensor triu(const Tensor& x, int64_t diagonal) {
  return detail::triangle_op(Op<"triu">(), x, diagonal, false);
}
TANDEM_OPS Tensor tril_indices(int64_t n, int64_t m, int64_t offset, const TensorOptions& options) {
  const OpScope op("tril_indices");
  return detail::triangle_indices(n, m, offset, options, true);
}
TANDEM_OPS Tensor triu_indices(int64_t n, int64_t m, int64_t offset, const TensorOptions& options) {
  const OpScope op("triu_indices");
  return detail::triangle_indices(n, m, offset, options, false);
}

TANDEM_OPS Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const Op<"diagonal"> op;
  detail::check_matrices(x);
  const auto [a, b] = detail::two_dims(dim1, dim2, x.dim());
  const int64_t n = x.size(a), m = x.size(b), k = detail::clamped_offset(offset, n, m);
  const int64_t length = std::max<int64_t>(0, k >= 0 ? std::min(n, m - k) : std::min(n + k, m));
  // The geometry of the diagonal in a tensor with these strides.
  const auto place = [=, a = a, b = b](const Dims& sizes, const Dims& strides) {  // clang 14 captures no bindings
    struct {
      Dims sizes, strides;
      int64_t offset;
    } view;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int64_t>(d) == a || static_cast<int64_t>(d) == b) continue;
      view.sizes.push_back(sizes[d]);
      view.strides.push_back(strides[d]);
    }
    const int64_t rows = strides[static_cast<size_t>(a)], columns = strides[static_cast<size_t>(b)];
    view.sizes.push_back(length);
    view.strides.push_back(rows + columns);
    view.offset = length == 0 ? 0 : k >= 0 ? k * columns : -k * rows;
    return view;
  };
  return op.apply_view(
      [&](const Tensor& x) {
        const auto view = place(x.impl().sizes, x.impl().strides);
        return Result{make_view(x, view.sizes, view.strides, x.storage_offset() + view.offset),
                      {},
                      [place, old = x.impl().sizes](const Backward& b) -> Grads {
                        // The gradient is zero outside the diagonal.
                        const auto view = place(old, contiguous_strides(old));
                        return {as_strided_scatter(zeros(old, b.grad().options()), b.grad(), view.sizes, view.strides,
                                                   view.offset)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return detail::scatter_view(Op<"diagonal_scatter">(), x, src,
                              [=](const Tensor& x) { return diagonal(x, offset, dim1, dim2); });
}

TANDEM_OPS Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const OpScope op("diag_embed");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() > 0, ShapeError, "x is {}, but must have rank 1 or more; unsqueeze(0) it", checks::show(x));
  const auto [a, b] = detail::two_dims(dim1, dim2, x.dim() + 1);
  const Checked size = Checked(x.sizes().back()) + (offset < 0 ? Checked(0) - offset : Checked(offset));
  TANDEM_CHECK(size.fits(), ShapeError, "the diagonal {} of {} entries needs a matrix of size {}; use a smaller offset",
               offset, x.sizes().back(), to_string(size));
  Dims sizes = x.impl().sizes;
  sizes.pop_back();
  sizes.insert(static_cast<size_t>(std::min(a, b)), *size.value());
  sizes.insert(static_cast<size_t>(std::max(a, b)), *size.value());
  return diagonal_scatter(zeros(sizes, x.options()), x, offset, a, b);
}
TANDEM_OPS Tensor diag(const Tensor& x, int64_t offset) {
  const OpScope op("diag");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() == 1 || x.dim() == 2, ShapeError, "x is {}, but must have rank 1 or 2; use diagonal()",
               checks::show(x));
  return x.dim() == 1 ? diag_embed(x, offset) : clone(diagonal(x, offset), MemoryFormat::Contiguous);
}
TANDEM_OPS Tensor diagflat(const Tensor& x, int64_t offset) {
  const OpScope op("diagflat");
  checks::defined("x", x);
  return diag_embed(reshape(x, {-1}), offset);
}

TANDEM_OPS Tensor trace(const Tensor& x) {
  const Op<"trace"> op;
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() == 2, ShapeError, "x is {}, but must have rank 2; use diagonal() and sum()", checks::show(x));
  return op.apply(
      [](const Tensor& x) {
        return Result{sum(diagonal(x)), {}, [sizes = x.impl().sizes](const Backward& b) -> Grads {
                        const int64_t length = std::min(sizes[0], sizes[1]);
                        const Tensor diagonal = expand(b.grad(), {length});
                        return {diagonal_scatter(zeros(sizes, diagonal.options()), diagonal)};
                      }};
      },
      x);
}

}  // namespace tandem
