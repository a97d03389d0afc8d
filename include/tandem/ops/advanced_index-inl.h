#pragma once
#include <utility>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/masked.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

using OptionalTensors = std::vector<std::optional<Tensor>>;

/// One entry per indexed dimension: an index tensor, or undefined for the whole dimension.
using Indices = std::vector<Tensor>;

/// Replaces masks by index tensors and checks dtypes and ranks. Masks must have the sizes of their dimensions.
inline Indices index_tensors(const Tensor& x, const OptionalTensors& given) {
  Indices indices;
  bool any = false;
  for (const std::optional<Tensor>& entry : given) {
    const auto d = static_cast<int64_t>(indices.size());
    if (!entry || !entry->defined()) {
      indices.emplace_back();
    } else if (entry->dtype() == kBool) {
      const Tensor& mask = *entry;
      TANDEM_CHECK(mask.dim() > 0, IndexError,
                   "the mask {} has rank 0; use where(), or unsqueeze(0) it together with x {}", checks::show(mask),
                   checks::show(x));
      bool fits = d + mask.dim() <= x.dim();
      for (int64_t i = 0; fits && i < mask.dim(); ++i) fits = mask.size(i) == x.size(d + i);
      TANDEM_CHECK(fits, IndexError,
                   "the mask {} is for dimension {} and those after it of x {}; it must have the same sizes",
                   checks::show(mask), d, checks::show(x));
      const Tensor at = nonzero(mask.device() == x.device() || !mask.is_cpu() ? mask : to(mask, x.device(), kBool));
      for (int64_t i = 0; i < mask.dim(); ++i) indices.push_back(select(at, 1, i));
      any = true;
    } else {
      TANDEM_CHECK(entry->dtype() == kLong || entry->dtype() == kInt, DTypeError,
                   "the index {} must be i64, i32 or bool; convert it with .to(kLong), or with .to(kBool) for a mask",
                   checks::show(*entry));
      const bool move = entry->is_cpu() && !x.is_cpu();
      indices.push_back(move ? to(*entry, x.device(), entry->dtype()) : *entry);
      any = true;
    }
  }
  TANDEM_CHECK(static_cast<int64_t>(indices.size()) <= x.dim(), IndexError,
               "{} indices for a tensor of rank {} {}; use fewer", indices.size(), x.dim(), to_string(x.sizes()));
  TANDEM_CHECK(any, IndexError, "the list of indices has no tensor; x {} needs one", checks::show(x));
  return indices;
}

/// The sizes of an indexing result: those before the index tensors' dimensions, theirs, and those after them.
struct IndexShape {
  Dims before, selected, after;        ///< sizes of x that are not indexed, and of the index tensors, broadcast
  Dims before_strides, after_strides;  ///< of x

  Dims sizes() const { return joined(selected); }
  /// The same with the index tensors' dimensions merged into one of this size.
  Dims with(int64_t size) const { return joined({size}); }
  int64_t dim() const { return static_cast<int64_t>(before.size()); }

  /// The index tensors' dimensions take the place of the indexed ones if those are adjacent, else they come first.
  IndexShape(IntArrayRef sizes, IntArrayRef strides, TensorList indices) {
    bool adjacent = true, ended = false, seen = false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool indexed = d < indices.size() && indices[d].defined();
      if (indexed) {
        selected = broadcast_shapes(selected, indices[d].sizes());
        adjacent = adjacent && !ended;
        seen = true;
      } else {
        ended = seen;
        (seen ? after : before).push_back(sizes[d]);
        (seen ? after_strides : before_strides).push_back(strides[d]);
      }
    }
    if (adjacent) return;
    for (size_t i = 0; i < after.size(); ++i) {
      before.push_back(after[i]);
      before_strides.push_back(after_strides[i]);
    }
    after = std::exchange(before, Dims());
    after_strides = std::exchange(before_strides, Dims());
  }

 private:
  Dims joined(const Dims& middle) const {
    Dims all = before;
    for (int64_t size : middle) all.push_back(size);
    for (int64_t size : after) all.push_back(size);
    return all;
  }
};

/// How kernels see an indexed tensor x: a view `lines` whose dimension `dim` is x's memory from its first element on,
/// and the offsets in it of the elements that the index tensors name. The strides of the other dimensions are x's.
struct Places {
  Tensor lines, offsets;
  Dims sizes;  ///< of the result, with the index tensors' dimensions merged
  int64_t dim;
};

/// Computes the offsets. On the CPU, an index out of range throws IndexError.
inline Places places_in(const Tensor& x, TensorList indices) {
  const IndexShape shape(x.sizes(), x.strides(), indices);
  Tensor offsets = empty(shape.selected, TensorOptions(kLong).device(x.device()));
  int64_t extent = 1;
  bool first = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    const int64_t size = x.sizes()[d], stride = x.strides()[d];
    if (offsets.numel() > 0) {
      backend(x).index_offsets(offsets, broadcast_view(indices[d], shape.selected), static_cast<int64_t>(d), size,
                               stride, !first);
    }
    extent += std::max<int64_t>(size - 1, 0) * stride;
    first = false;
  }
  const int64_t n = offsets.numel();
  Dims strides = shape.before_strides;
  strides.push_back(1);
  for (int64_t s : shape.after_strides) strides.push_back(s);
  return {make_view(x, shape.with(extent), strides, x.storage_offset()), make_view(offsets, {n}, {1}, 0), shape.with(n),
          shape.dim()};
}

inline Tensor index_op(const Tensor& x, TensorList indices);

/// y at the places is overwritten with, or increased by, values, which broadcast to the sizes of the result of index.
/// With accumulate, y may be f32 beside 16-bit values.
inline void put_at_places(const Tensor& y, TensorList indices, const Tensor& values, bool accumulate) {
  const Dims sizes = IndexShape(y.sizes(), y.strides(), indices).sizes();
  const Tensor all = broadcast_view(values, sizes);
  if (all.numel() == 0) return;
  const Places places = places_in(y, indices);
  const Tensor src = reshape(all, places.sizes);
  if (accumulate) return backend(y).index_add(places.lines, places.dim, places.offsets, src);
  Dims strides(places.sizes.size(), 0);
  strides[static_cast<size_t>(places.dim)] = 1;
  backend(y).scatter(places.lines, kernels::Scatter::assign, places.dim,
                     make_view(places.offsets, places.sizes, strides, 0), src);
}

/// index_put of checked arguments. An undefined x means zeros of `sizes`.
inline Tensor index_put_op(const Tensor& x, const Dims& sizes, TensorList indices, const Tensor& values, bool adds) {
  const Op<"index_put"> op;
  return op.apply(
      [&](const Tensor& x, TensorList indices, const Tensor& values) {
        if (x.defined()) checks::same_dtype("x", x, "values", values);
        Tensor y;
        if (adds) {
          y = accumulate(x, sizes, values, [&](const Tensor& y) { put_at_places(y, indices, values, true); });
        } else {
          y = copy_of(x);
          put_at_places(y, indices, values, false);
        }
        const size_t count = indices.size();
        return Result{y, Saved{indices.vec()}, [count, adds, sizes = values.impl().sizes](const Backward& b) -> Grads {
                        Indices indices;
                        for (size_t i = 0; i < count; ++i) indices.push_back(b.saved(i));
                        const Tensor g = b.grad();
                        Grads grads(count + 2);
                        if (b.needs(0)) {
                          grads[0] = adds ? g : index_put_op(g, g.impl().sizes, indices, zeros({}, g.options()), false);
                        }
                        if (b.needs(count + 1)) grads[count + 1] = sum_to_size(index_op(g, indices), sizes);
                        return grads;
                      }};
      },
      x, indices, values);
}

/// index of checked arguments.
inline Tensor index_op(const Tensor& x, TensorList indices) {
  const Op<"index"> op;
  return op.apply(
      [&](const Tensor& x, TensorList indices) {
        const Tensor y = empty(IndexShape(x.sizes(), x.strides(), indices).sizes(), x.options());
        const Places places = places_in(x, indices);
        if (y.numel() > 0) {
          backend(x).index_select(make_view(y, places.sizes, contiguous_strides(places.sizes), 0), places.lines,
                                  places.dim, places.offsets);
        }
        const size_t count = indices.size();
        return Result{y, Saved{indices.vec()}, [count, sizes = x.impl().sizes](const Backward& b) -> Grads {
                        Indices indices;
                        for (size_t i = 0; i < count; ++i) indices.push_back(b.saved(i));
                        Grads grads(count + 1);
                        grads[0] = index_put_op({}, sizes, indices, b.grad(), true);
                        return grads;
                      }};
      },
      x, indices);
}

/// Throws ShapeError unless values broadcasts to the result of index.
inline void check_values(const Tensor& x, const Indices& indices, const Tensor& values) {
  const Dims sizes = IndexShape(x.sizes(), x.strides(), indices).sizes();
  bool fits = values.dim() <= static_cast<int64_t>(sizes.size());
  for (int64_t i = 1; fits && i <= values.dim(); ++i) {
    const int64_t size = values.size(-i);
    fits = size == 1 || size == sizes[sizes.size() - static_cast<size_t>(i)];
  }
  TANDEM_CHECK(fits, ShapeError, "values is {}, but the indices select {} of {}; it must broadcast to these sizes",
               checks::show(values), to_string(sizes), checks::show(x));
}

/// Returns x's mask if there is no other index, so that a number can be written without counting its elements.
inline const Tensor* only_mask(const Tensor& x, const OptionalTensors& indices) {
  if (indices.size() != 1 || !indices[0] || !indices[0]->defined() || indices[0]->dtype() != kBool) return nullptr;
  const Tensor& mask = *indices[0];
  if (mask.dim() > x.dim() || mask.device() != x.device()) return nullptr;
  for (int64_t i = 0; i < mask.dim(); ++i) {
    if (mask.size(i) != x.size(i)) return nullptr;
  }
  return &mask;
}

/// The mask of leading dimensions as one that broadcasts to x.
inline Tensor trailing(const Tensor& mask, const Tensor& x) {
  Dims sizes = mask.impl().sizes, strides = mask.impl().strides;
  for (int64_t i = mask.dim(); i < x.dim(); ++i) {
    sizes.push_back(1);
    strides.push_back(1);
  }
  return make_view(mask, sizes, strides, mask.storage_offset());
}

/// Checks the arguments of put and take but source. Returns index.
inline void check_positions(const char* which, const Tensor& x, const Tensor& index) {
  checks::defined(which, x);
  checks::index("index", index);
  TANDEM_CHECK(x.numel() > 0 || index.numel() == 0, IndexError, "index is {}, but {} {} has no elements",
               checks::show(index), which, checks::show(x));
}
inline void check_put(const char* which, const Tensor& x, const Tensor& index, const Tensor& source) {
  check_positions(which, x, index);
  checks::defined("source", source);
  TANDEM_CHECK(source.numel() == index.numel(), ShapeError,
               "source is {}, but index is {}; they must have the same number of elements", checks::show(source),
               checks::show(index));
  checks::same_dtype(which, x, "source", source);
}

}  // namespace detail

// ---- index tensors

TANDEM_OPS Tensor index(const Tensor& x, const std::vector<std::optional<Tensor>>& indices) {
  const OpScope op("index");
  checks::defined("x", x);
  return detail::index_op(x, detail::index_tensors(x, indices));
}

TANDEM_OPS Tensor index_put(const Tensor& x, const std::vector<std::optional<Tensor>>& indices, const Tensor& values,
                            bool accumulate) {
  const OpScope op("index_put");
  checks::defined("x", x);
  checks::defined("values", values);
  const detail::Indices tensors = detail::index_tensors(x, indices);
  detail::check_values(x, tensors, values);
  return detail::index_put_op(x, x.impl().sizes, tensors, detail::beside(x, values), accumulate);
}
TANDEM_OPS Tensor index_put(const Tensor& x, const std::vector<std::optional<Tensor>>& indices, Scalar value,
                            bool accumulate) {
  const OpScope op("index_put");
  checks::defined("x", x);
  const Tensor number = detail::number_like(x, value);
  const Tensor* mask = accumulate || is_storage_only(x.dtype()) ? nullptr : detail::only_mask(x, indices);
  return mask ? masked_fill(x, detail::trailing(*mask, x), number) : index_put(x, indices, number, accumulate);
}

TANDEM_OPS const Tensor& index_put_(const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                                    const Tensor& values, bool accumulate) {
  const OpScope op("index_put_");
  checks::defined("self", self);
  checks::defined("values", values);
  const detail::Indices tensors = detail::index_tensors(self, indices);
  detail::check_values(self, tensors, values);
  checks::same_dtype("self", self, "values", values);
  detail::check_devices({&self, &values});
  for (const Tensor& index : tensors) detail::check_devices({&self, &index});
  const Tensor added = detail::beside(self, values);
  return apply_in_place(
      op, self, {&added, 1},
      [&](const Tensor& y) {
        const Tensor source = detail::apart(y, added);
        if (!accumulate) return detail::put_at_places(y, tensors, source, false);
        detail::accumulate_in_place(y, source,
                                    [&](const Tensor& sum) { detail::put_at_places(sum, tensors, source, true); });
      },
      [&](const Tensor& old) { return detail::index_put_op(old, old.impl().sizes, tensors, added, accumulate); });
}
TANDEM_OPS const Tensor& index_put_(const Tensor& self, const std::vector<std::optional<Tensor>>& indices, Scalar value,
                                    bool accumulate) {
  const OpScope op("index_put_");
  checks::defined("self", self);
  const Tensor number = detail::number_like(self, value);
  const Tensor* mask = accumulate || is_storage_only(self.dtype()) ? nullptr : detail::only_mask(self, indices);
  return mask ? masked_fill_(self, detail::trailing(*mask, self), number)
              : index_put_(self, indices, number, accumulate);
}

// ---- row-major positions

TANDEM_OPS Tensor take(const Tensor& x, const Tensor& index) {
  const OpScope op("take");
  detail::check_positions("x", x, index);
  return tandem::index(reshape(x, {-1}), {index});
}

TANDEM_OPS Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  const OpScope op("put");
  detail::check_put("x", x, index, source);
  const Tensor y = index_put(reshape(x, {-1}), {reshape(index, {-1})}, reshape(source, {-1}), accumulate);
  return reshape(y, x.sizes());
}

TANDEM_OPS const Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  const OpScope op("put_");
  detail::check_put("self", self, index, source);
  detail::check_devices({&self, &index, &source});
  return apply_in_place(
      op, self, {&source, 1},
      [&](const Tensor& y) {
        if (!y.is_contiguous()) return backend(y).copy(y, put(y, index, source, accumulate));
        index_put_(make_view(y, {y.numel()}, {1}, y.storage_offset()), {reshape(index, {-1})}, reshape(source, {-1}),
                   accumulate);
      },
      [&](const Tensor& old) { return put(old, index, source, accumulate); });
}

TANDEM_OPS Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim) {
  const OpScope op("take_along_dim");
  checks::defined("x", x);
  checks::index("indices", indices);
  if (!dim) return gather(reshape(x, {-1}), 0, reshape(indices, {-1}));
  TANDEM_CHECK(x.dim() == indices.dim(), ShapeError, "x is {}, but indices is {}; they must have the same rank",
               checks::show(x), checks::show(indices));
  const int64_t d = wrap_dim(*dim, x.dim());
  const Dims sizes = broadcast_shapes(detail::with_size(x.sizes(), d, 1), detail::with_size(indices.sizes(), d, 1));
  return gather(expand(x, detail::with_size(sizes, d, detail::size_or_one(x, d))), d,
                expand(indices, detail::with_size(sizes, d, detail::size_or_one(indices, d))));
}

// ---- places that are not 0

TANDEM_OPS Tensor nonzero(const Tensor& x) {
  const OpScope op("nonzero");
  checks::defined("x", x);
  NoGradGuard no_grad;
  const Tensor is_set = contiguous(x.dtype() == kBool ? x.detach() : ne(x.detach(), 0));
  const auto n = sum(is_set).item<int64_t>();
  const Tensor y = empty({n, x.dim()}, x.options().dtype(kLong));
  if (y.numel() > 0) backend(y).nonzero(y, is_set);
  return y;
}

TANDEM_OPS Tensor argwhere(const Tensor& x) {
  const OpScope op("argwhere");
  return nonzero(x);
}

TANDEM_OPS std::vector<Tensor> where(const Tensor& condition) {
  const OpScope op("where");
  checks::defined("the condition", condition);
  const Tensor at = nonzero(condition.dim() == 0 ? unsqueeze(condition, 0) : condition);
  std::vector<Tensor> columns;
  for (int64_t d = 0; d < at.size(1); ++d) columns.push_back(select(at, 1, d));
  return columns;
}

TANDEM_OPS Tensor where(const Tensor& condition, Scalar a, Scalar b) {
  const OpScope op("where");
  checks::defined("the condition", condition);
  const auto kind = [](Scalar s) {
    return s.is_floating_point() ? get_default_dtype() : s.is_boolean() ? kBool : kLong;
  };
  const TensorOptions options = condition.options().dtype(promote_types(kind(a), kind(b)));
  return where(condition, full({}, a, options), full({}, b, options));
}

TANDEM_OPS Tensor one_hot(const Tensor& x, int64_t num_classes) {
  const OpScope op("one_hot");
  checks::index("x", x);
  TANDEM_CHECK(num_classes >= -1 && num_classes != 0, StateError,
               "num_classes = {}, but must be at least 1, or -1 for the largest class plus one", num_classes);
  TANDEM_CHECK(num_classes > 0 || x.numel() > 0, ShapeError,
               "x is {}, from which the number of classes cannot be told; pass num_classes", checks::show(x));
  const int64_t classes = num_classes > 0 ? num_classes : max(x).item<int64_t>() + 1;
  Dims sizes = x.impl().sizes;
  sizes.push_back(std::max<int64_t>(classes, 1));  // a negative class is refused below
  const Tensor y = zeros(sizes, x.options().dtype(kLong));
  return scatter_(y, x.dim(), unsqueeze(x, -1), 1);
}

}  // namespace tandem
