#pragma once
// as_strided and as_strided_scatter, whose derivatives must add where elements of a view share memory.
#include <algorithm>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Throws unless the elements of this geometry, from `begin` on, are all within `available` elements.
inline void check_strided(IntArrayRef sizes, IntArrayRef strides, Checked begin, int64_t available) {
  TANDEM_CHECK(sizes.size() == strides.size(), ShapeError, "{} sizes but {} strides; their numbers must be equal",
               sizes.size(), strides.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(sizes[d] >= 0 && strides[d] >= 0, ShapeError,
                 "negative entry in sizes {} or strides {}; all must be at least 0", to_string(sizes),
                 to_string(strides));
  }
  const std::optional<int64_t> extent = extent_of(sizes, strides);
  TANDEM_CHECK(extent && begin.fits() && (*extent == 0 || (begin >= 0 && begin + *extent <= available)), IndexError,
               "sizes {} with strides {} from offset {} exceed the storage of {} elements; choose smaller ones",
               to_string(sizes), to_string(strides), to_string(begin), available);
}

/// Returns false if each stride exceeds the extent of the dimensions with smaller strides, so that no two elements
/// share memory.
inline bool may_overlap(const Dims& sizes, const Dims& strides) {
  if (numel_of(sizes) == 0) return false;
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

/// Geometry of a tensor in a flat block of memory, from element `offset` on.
struct Strided {
  Dims sizes, strides;
  int64_t offset;
  int64_t end() const { return offset + extent_of(sizes, strides).value(); }
  bool overlaps() const { return may_overlap(sizes, strides); }
};

/// Returns `extent` zeros to which `g` is added at the positions of `at`. Elements that share memory are summed.
inline Tensor add_strided(const Tensor& g, const Strided& at, int64_t extent) {
  const Tensor flat = zeros({extent}, g.options());
  if (!at.overlaps()) return as_strided_scatter(flat, g, at.sizes, at.strides, at.offset);
  const Tensor positions = arange(extent, TensorOptions(kLong).device(g.device()));
  const Tensor index = reshape(as_strided(positions, at.sizes, at.strides, at.offset), {g.numel()});
  return index_add(flat, 0, index, reshape(g, {g.numel()}));
}

/// Returns the gradient of `base`, given that of a view of the same storage, which may extend beyond `base`. As in
/// PyTorch, each memory location gets the sum of the gradients of the view's elements there, which is divided equally
/// among the base's elements there.
inline Tensor strided_backward(const Tensor& g, Strided view, Strided base) {
  const int64_t before = std::min(view.offset, base.offset);
  view.offset -= before;
  base.offset -= before;
  const int64_t extent = std::max(view.end(), base.end());
  Tensor flat = add_strided(g, view, extent);
  if (base.overlaps()) {
    const Tensor ones_of_base = ones(base.sizes, g.options().dtype(checks::sum_dtype(g.dtype())));
    // Locations outside the base have a count of 0 and are not read, so any divisor will do.
    flat = to(div(flat, clamp(add_strided(ones_of_base, base, extent), 1)), g.dtype());
  }
  return as_strided(flat, base.sizes, base.strides, base.offset);
}

}  // namespace detail

TANDEM_OPS Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset) {
  const Op<"as_strided"> op;
  checks::defined("the input", x);
  const int64_t begin = offset.value_or(x.storage_offset());
  detail::check_strided(sizes, strides, begin, static_cast<int64_t>(x.storage().nbytes() / x.element_size()));
  return op.apply_view(
      [&](const Tensor& x) {
        const detail::Strided view{Dims(sizes), Dims(strides), begin},
            base{x.impl().sizes, x.impl().strides, x.storage_offset()};
        return Result{make_view(x, view.sizes, view.strides, begin), {}, [view, base](const Backward& b) -> Grads {
                        return {detail::strided_backward(b.grad(), view, base)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor as_strided_scatter(const Tensor& x, const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                                     std::optional<int64_t> storage_offset) {
  const Op<"as_strided_scatter"> op;
  checks::defined("the input", x);
  checks::defined("the source", source);
  const Checked begin = Checked(storage_offset.value_or(x.storage_offset())) - x.storage_offset();
  detail::check_strided(sizes, strides, begin, extent_of(x.sizes(), x.strides()).value());
  const int64_t offset = begin.value_or(0);  // in x
  TANDEM_CHECK(source.sizes() == sizes, ShapeError, "the source is {}, but the view is {}; their sizes must be equal",
               to_string(source.sizes()), to_string(sizes));
  return op.apply(
      [&](const Tensor& x, const Tensor& source) {
        const Dims view_sizes(sizes), view_strides(strides);
        Tensor y = empty_strided(x.sizes(), x.strides(), x.options());
        backend(x).copy(y, x);
        backend(x).copy(make_view(y, view_sizes, view_strides, y.storage_offset() + offset), source);
        return Result{y, {}, [view_sizes, view_strides, offset, layout = x.impl().strides](const Backward& b) -> Grads {
                        Tensor g = empty_strided(b.grad().sizes(), layout, b.grad().options());
                        g.copy_(b.grad());
                        Grads grads(2);
                        if (b.needs(0)) {
                          grads[0] =
                              as_strided_scatter(g, zeros(view_sizes, g.options()), view_sizes, view_strides, offset);
                        }
                        if (b.needs(1)) grads[1] = as_strided(g, view_sizes, view_strides, offset);
                        return grads;
                      }};
      },
      x, source);
}

}  // namespace tandem
