#pragma once
#include <algorithm>
#include <iterator>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/split.h"
#include "tandem/ops/strided-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns `sizes` with -1 replaced so that the number of elements is that of `x`.
inline Dims infer_sizes(const Tensor& x, IntArrayRef sizes) {
  Dims result(sizes);
  Checked known = 1;
  int64_t unknown = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      TANDEM_CHECK(unknown < 0, ShapeError, "sizes are {}; only one may be -1", to_string(sizes));
      unknown = static_cast<int64_t>(d);
    } else {
      TANDEM_CHECK(sizes[d] >= 0, ShapeError, "size {} in {} is negative; only -1 is allowed", sizes[d],
                   to_string(sizes));
      known *= sizes[d];
    }
  }
  const int64_t product = known.value_or(0);
  const bool fits = unknown >= 0 ? product != 0 && x.numel() % product == 0 : known == x.numel();
  TANDEM_CHECK(fits, ShapeError,
               "the {} elements of {} do not fit the sizes {}; the products of the sizes must be equal", x.numel(),
               to_string(x.sizes()), to_string(sizes));
  if (unknown >= 0) result[static_cast<size_t>(unknown)] = x.numel() / product;
  return result;
}

/// Returns the strides of a view of `x` with `sizes`, if one is possible: each new dimension must be inside a run of
/// old dimensions that are contiguous with each other.
inline std::optional<Dims> view_strides(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == IntArrayRef(sizes)) return x.impl().strides;
  if (x.numel() == 0 || x.is_contiguous()) return contiguous_strides(sizes);
  Dims strides(sizes.size(), 0);
  int64_t next = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run = 1;                                  // elements in the current run of old dimensions
  int64_t base = x.dim() ? x.strides().back() : 1;  // stride of the run's last dimension
  int64_t taken = 1;                                // elements of the run assigned to new dimensions
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    const size_t i = static_cast<size_t>(d);
    run *= x.sizes()[i];
    const bool run_ends = d == 0 || (x.sizes()[i - 1] != 1 && !(Checked(run) * base == x.strides()[i - 1]));
    if (!run_ends) continue;
    while (next >= 0 && (taken < run || sizes[static_cast<size_t>(next)] == 1)) {
      strides[static_cast<size_t>(next)] = (Checked(taken) * base).value_or(1);  // overflows only for a size of 1
      taken *= sizes[static_cast<size_t>(next)];
      --next;
    }
    if (taken != run) return std::nullopt;
    if (d > 0) {
      base = x.strides()[i - 1];
      run = taken = 1;
    }
  }
  if (next >= 0) return std::nullopt;
  return strides;
}

}  // namespace detail

TANDEM_OPS Tensor view(const Tensor& x, IntArrayRef sizes) {
  const Op<"view"> op;
  checks::defined("the input", x);
  const Dims wanted = detail::infer_sizes(x, sizes);
  const std::optional<Dims> strides = detail::view_strides(x, wanted);
  TANDEM_CHECK(strides.has_value(), ShapeError,
               "{} with strides {} cannot be viewed as {} without a copy; use reshape()", to_string(x.sizes()),
               to_string(x.strides()), to_string(wanted));
  return op.apply_view(
      [&](const Tensor& x) {
        return Result{
            make_view(x, wanted, *strides, x.storage_offset()), {}, [old = x.impl().sizes](const Backward& b) -> Grads {
              return {detail::with_shape(b.grad(), old)};
            }};
      },
      x);
}

TANDEM_OPS Tensor view_dtype(const Tensor& x, DType dtype) {
  const OpScope op("view_dtype");
  checks::defined("the input", x);
  TANDEM_CHECK((dtype == kBool) == (x.dtype() == kBool), DTypeError,
               "x is {}, and its bits cannot be shared with {}, since those of bool are 0 and 1; convert with .to()",
               checks::show(x), tandem::name(dtype));
  // Not a view for autograd, to which a change of bits has no derivative.
  Tensor y = x.detach();
  TensorImpl& impl = y.impl();
  impl.dtype = dtype;
  const auto from = static_cast<int64_t>(x.element_size()), to = static_cast<int64_t>(element_size(dtype));
  if (from == to) return y;
  TANDEM_CHECK(x.dim() > 0 && (x.size(-1) == 1 || x.stride(-1) == 1), ShapeError,
               "x is {} with strides {}; to be read as {}, which has another size, its last dimension must have stride "
               "1: call contiguous(), or convert with .to()",
               checks::show(x), to_string(x.strides()), tandem::name(dtype));
  const auto rescaled = [&](int64_t elements) {
    TANDEM_CHECK(
        elements * from % to == 0, ShapeError,
        "x is {} with strides {} from element {}, and {} of its elements are no whole number of {}; pad() the last "
        "dimension, clone() a view, or convert with .to()",
        checks::show(x), to_string(x.strides()), x.storage_offset(), elements, tandem::name(dtype));
    return elements * from / to;
  };
  impl.sizes.back() = rescaled(x.size(-1));
  impl.strides.back() = 1;
  for (size_t d = 0; d + 1 < impl.strides.size(); ++d) impl.strides[d] = rescaled(x.strides()[d]);
  impl.offset = rescaled(x.storage_offset());
  impl.refresh();
  TANDEM_CHECK(reinterpret_cast<uintptr_t>(y.raw_bytes()) % static_cast<size_t>(to) == 0, StateError,
               "the memory of x {} is not aligned for {}; clone() it first", checks::show(x), tandem::name(dtype));
  return y;
}

TANDEM_OPS Tensor reshape(const Tensor& x, IntArrayRef sizes) {
  const OpScope op("reshape");
  checks::defined("the input", x);
  const Dims wanted = detail::infer_sizes(x, sizes);
  return detail::view_strides(x, wanted) ? view(x, wanted) : view(contiguous(x), wanted);
}

TANDEM_OPS Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const OpScope op("flatten");
  checks::defined("the input", x);
  const int64_t start = wrap_dim(start_dim, x.dim()), end = wrap_dim(end_dim, x.dim());
  TANDEM_CHECK(start <= end, IndexError, "start_dim {} is after end_dim {} of {}; swap them", start_dim, end_dim,
               to_string(x.sizes()));
  if (x.dim() == 0) return reshape(x, {1});
  if (start == end) return x;
  Dims sizes;
  int64_t merged = 1;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d < start || d > end) {
      sizes.push_back(x.size(d));
    } else {
      merged *= x.size(d);
      if (d == end) sizes.push_back(merged);
    }
  }
  return reshape(x, sizes);
}

TANDEM_OPS Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  const Op<"transpose"> op;
  checks::defined("the input", x);
  const int64_t a = wrap_dim(dim0, x.dim()), b = wrap_dim(dim1, x.dim());
  if (a == b)
    return op.apply_view(
        [](const Tensor& x) {
          return Result{make_view(x, x.impl().sizes, x.impl().strides, x.storage_offset()),
                        {},
                        [](const Backward& b) -> Grads { return {b.grad()}; }};
        },
        x);
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes = x.impl().sizes, strides = x.impl().strides;
        std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
        std::swap(strides[static_cast<size_t>(a)], strides[static_cast<size_t>(b)]);
        return Result{make_view(x, sizes, strides, x.storage_offset()), {}, [a, b](const Backward& g) -> Grads {
                        return {transpose(g.grad(), a, b)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor t(const Tensor& x) {
  const OpScope op("t");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() <= 2, ShapeError,
               "x has rank {} {}, but must have at most rank 2; use transpose(dim0, dim1) or permute()", x.dim(),
               to_string(x.sizes()));
  return transpose(x, 0, x.dim() < 2 ? 0 : 1);
}

TANDEM_OPS Tensor permute(const Tensor& x, IntArrayRef dims) {
  const Op<"permute"> op;
  checks::defined("the input", x);
  TANDEM_CHECK(static_cast<int64_t>(dims.size()) == x.dim(), ShapeError,
               "{} dimensions given for a tensor of rank {} {}; list each of its dimensions once", dims.size(), x.dim(),
               to_string(x.sizes()));
  Dims order, inverse(dims.size(), -1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], x.dim());
    TANDEM_CHECK(inverse[static_cast<size_t>(d)] < 0, ShapeError, "dimension {} appears twice in {}; list each once", d,
                 to_string(dims));
    inverse[static_cast<size_t>(d)] = static_cast<int64_t>(i);
    order.push_back(d);
  }
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes, strides;
        for (int64_t d : order) {
          sizes.push_back(x.size(d));
          strides.push_back(x.stride(d));
        }
        return Result{make_view(x, sizes, strides, x.storage_offset()), {}, [inverse](const Backward& b) -> Grads {
                        return {permute(b.grad(), inverse)};
                      }};
      },
      x);
}

namespace detail {

/// Removes the dimensions of size 1 for which `drop` returns true.
template <class Drop>
Tensor squeeze_where(const Op<"squeeze">& op, const Tensor& x, Drop drop) {
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes, strides;
        for (int64_t d = 0; d < x.dim(); ++d) {
          if (x.size(d) == 1 && drop(d)) continue;
          sizes.push_back(x.size(d));
          strides.push_back(x.stride(d));
        }
        return Result{make_view(x, sizes, strides, x.storage_offset()),
                      {},
                      [old = x.impl().sizes](const Backward& b) -> Grads { return {with_shape(b.grad(), old)}; }};
      },
      x);
}

}  // namespace detail

TANDEM_OPS Tensor squeeze(const Tensor& x) {
  const Op<"squeeze"> op;
  checks::defined("the input", x);
  return detail::squeeze_where(op, x, [](int64_t) { return true; });
}
TANDEM_OPS Tensor squeeze(const Tensor& x, int64_t dim) {
  const Op<"squeeze"> op;
  checks::defined("the input", x);
  const int64_t wanted = wrap_dim(dim, x.dim());
  return detail::squeeze_where(op, x, [wanted](int64_t d) { return d == wanted; });
}

TANDEM_OPS Tensor squeeze(const Tensor& x, IntArrayRef dims) {
  const Op<"squeeze"> op;
  checks::defined("the input", x);
  std::array<bool, kMaxRank> is_listed{};
  for (const int64_t dim : dims) {
    bool& listed = is_listed[static_cast<size_t>(wrap_dim(dim, x.dim()))];
    TANDEM_CHECK(!listed, ShapeError, "dimension {} appears twice in {}; list each once", dim, to_string(dims));
    listed = true;
  }
  return detail::squeeze_where(op, x, [&](int64_t d) { return is_listed[static_cast<size_t>(d)]; });
}

TANDEM_OPS Tensor unsqueeze(const Tensor& x, int64_t dim) {
  const Op<"unsqueeze"> op;
  checks::defined("the input", x);
  const size_t at = static_cast<size_t>(wrap_dim(dim, x.dim() + 1));
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes = x.impl().sizes, strides = x.impl().strides;
        // The stride of a dimension of size 1 is never used, so any value will do if it overflows.
        strides.insert(at, at < sizes.size() ? (Checked(sizes[at]) * strides[at]).value_or(1) : 1);
        sizes.insert(at, 1);
        return Result{make_view(x, sizes, strides, x.storage_offset()), {}, [at](const Backward& b) -> Grads {
                        return {squeeze(b.grad(), static_cast<int64_t>(at))};
                      }};
      },
      x);
}

TANDEM_OPS Tensor expand(const Tensor& x, IntArrayRef sizes) {
  const Op<"expand"> op;
  checks::defined("the input", x);
  TANDEM_CHECK(static_cast<int64_t>(sizes.size()) >= x.dim(), ShapeError,
               "{} has more dimensions than the requested {}; give at least {} sizes", to_string(x.sizes()),
               to_string(sizes), x.dim());
  const size_t lead = sizes.size() - static_cast<size_t>(x.dim());
  Dims result(sizes);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1 && d >= lead) result[d] = x.sizes()[d - lead];
    const bool fits = d < lead ? sizes[d] >= 0 : x.sizes()[d - lead] == 1 || x.sizes()[d - lead] == result[d];
    TANDEM_CHECK(fits && result[d] >= 0, ShapeError,
                 "{} cannot be expanded to {}: dimension {} must have size 1 or the requested size",
                 to_string(x.sizes()), to_string(sizes), d);
  }
  return op.apply_view(
      [&](const Tensor& x) {
        Dims strides(result.size(), 0);
        for (size_t d = lead; d < result.size(); ++d) {
          if (x.sizes()[d - lead] != 1 || result[d] == 1) strides[d] = x.strides()[d - lead];
        }
        return Result{make_view(x, result, strides, x.storage_offset()),
                      {},
                      [old = x.impl().sizes](const Backward& b) -> Grads { return {sum_to_size(b.grad(), old)}; }};
      },
      x);
}

TANDEM_OPS Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  const OpScope op("select");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0, IndexError, "a 0-dim tensor has no dimension to select from; use item()");
  const int64_t d = wrap_dim(dim, x.dim());
  const int64_t size = x.size(d);
  TANDEM_CHECK(index >= -size && index < size, IndexError,
               "index {} is out of range for dimension {} of {}; use one in [{}, {}]", index, d, to_string(x.sizes()),
               -size, size - 1);
  return squeeze(narrow(x, d, index < 0 ? index + size : index, 1), d);
}

TANDEM_OPS Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const OpScope op("narrow");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0, IndexError, "a 0-dim tensor has no dimension to narrow; unsqueeze(0) it");
  const int64_t d = wrap_dim(dim, x.dim());
  const int64_t size = x.size(d);
  const int64_t first = start < 0 ? start + size : start;
  TANDEM_CHECK(first >= 0 && first <= size && length >= 0 && length <= size - first, IndexError,
               "{} entries from index {} are outside dimension {} of {}; take fewer", length, start, d,
               to_string(x.sizes()));
  return slice(x, d, first, first + length, 1);
}

TANDEM_OPS Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop,
                        int64_t step) {
  const Op<"slice"> op;
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0, IndexError, "a 0-dim tensor cannot be sliced; unsqueeze(0) it");
  TANDEM_CHECK(step >= 1, IndexError, "step must be at least 1, not {}; negative steps need a copy", step);
  const size_t d = static_cast<size_t>(wrap_dim(dim, x.dim()));
  const int64_t size = x.sizes()[d];
  auto bound = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t from = bound(start.value_or(0)), to = std::max(bound(stop.value_or(size)), from);
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes = x.impl().sizes, strides = x.impl().strides;
        // Products overflow only if they are not used: in an empty slice or one with a single entry.
        const int64_t offset = (Checked(from) * strides[d] + x.storage_offset()).value_or(x.storage_offset());
        sizes[d] = to > from ? (to - from - 1) / step + 1 : 0;
        strides[d] = (Checked(strides[d]) * step).value_or(strides[d]);
        return Result{make_view(x, sizes, strides, offset),
                      {},
                      [old = x.impl().sizes, d, from, step](const Backward& b) -> Grads {
                        // The gradient is zero outside the slice.
                        const Dims whole = contiguous_strides(old);
                        Dims strides = whole;
                        strides[d] = (Checked(whole[d]) * step).value_or(whole[d]);
                        return {as_strided_scatter(zeros(old, b.grad().options()), b.grad(), b.grad().sizes(), strides,
                                                   from * whole[d])};
                      }};
      },
      x);
}

TANDEM_OPS Tensor cat(TensorList tensors, int64_t dim) {
  const Op<"cat"> op;
  const auto is_defined = [](const Tensor& x) { return x.defined(); };
  if (!std::all_of(tensors.begin(), tensors.end(), is_defined)) {
    std::vector<Tensor> defined;
    std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(defined), is_defined);
    return cat(defined, dim);
  }
  TANDEM_CHECK(!tensors.empty(), StateError, "the list of tensors is empty, or all are undefined; give at least one");
  // As in PyTorch, an empty tensor of rank 1 fits anywhere.
  auto is_placeholder = [](const Tensor& x) { return x.dim() == 1 && x.numel() == 0; };
  const Tensor* model = &tensors[0];
  for (const Tensor& x : tensors) {
    if (!is_placeholder(x)) {
      model = &x;
      break;
    }
  }
  TANDEM_CHECK(model->dim() > 0, ShapeError, "tensors of rank 0 cannot be concatenated; use stack()");
  const size_t d = static_cast<size_t>(wrap_dim(dim, model->dim()));
  Dims sizes = model->impl().sizes;
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (is_placeholder(x)) continue;
    bool fits = x.dim() == model->dim();
    for (size_t k = 0; fits && k < sizes.size(); ++k) fits = k == d || x.sizes()[k] == sizes[k];
    TANDEM_CHECK(fits, ShapeError,
                 "tensor {} is {}, but the first is {}; all sizes except that of dimension {} must be equal", i,
                 to_string(x.sizes()), to_string(model->sizes()), d);
    const Checked length = Checked(sizes[d]) + x.sizes()[d];
    TANDEM_CHECK(length.fits(), ShapeError,
                 "{} entries and the {} of tensor {} {} in dimension {} exceed int64; concatenate fewer", sizes[d],
                 x.sizes()[d], i, to_string(x.sizes()), d);
    sizes[d] = *length.value();
  }
  return op.apply(
      [&](TensorList xs) {
        Tensor y = empty(sizes, xs[0].options().dtype(result_type(xs)));
        std::vector<int64_t> lengths;
        int64_t at = 0;
        for (const Tensor& x : xs) {
          const int64_t length = is_placeholder(x) ? -1 : x.sizes()[d];
          lengths.push_back(length);
          if (length <= 0) continue;
          Dims part = sizes;
          part[d] = length;
          backend(y).copy(make_view(y, part, y.impl().strides, y.storage_offset() + at * y.strides()[d]), x);
          at += length;
        }
        return Result{y, {}, [d, lengths](const Backward& b) -> Grads {
                        Grads grads(lengths.size());
                        int64_t at = 0;
                        for (size_t i = 0; i < lengths.size(); ++i) {
                          const int64_t start = at;
                          at += std::max<int64_t>(lengths[i], 0);
                          if (!b.needs(i)) continue;
                          grads[i] = lengths[i] < 0 ? zeros({0}, b.grad().options())
                                                    : narrow(b.grad(), static_cast<int64_t>(d), start, lengths[i]);
                        }
                        return grads;
                      }};
      },
      tensors);
}

TANDEM_OPS Tensor stack(TensorList tensors, int64_t dim) {
  const Op<"stack"> op;
  TANDEM_CHECK(!tensors.empty(), StateError, "the list of tensors is empty; give at least one");
  for (size_t i = 0; i < tensors.size(); ++i) {
    checks::defined_at(i, tensors[i]);
    TANDEM_CHECK(tensors[i].sizes() == tensors[0].sizes(), ShapeError,
                 "tensor {} is {}, but the first is {}; all must have the same sizes", i, to_string(tensors[i].sizes()),
                 to_string(tensors[0].sizes()));
  }
  const size_t d = static_cast<size_t>(wrap_dim(dim, tensors[0].dim() + 1));
  return op.apply(
      [&](TensorList xs) {
        Dims sizes = xs[0].impl().sizes;
        sizes.insert(d, static_cast<int64_t>(xs.size()));
        Tensor y = empty(sizes, xs[0].options().dtype(result_type(xs)));
        Dims strides = y.impl().strides;
        const int64_t step = strides[d];
        strides.erase(d);
        for (size_t i = 0; i < xs.size(); ++i) {
          const int64_t offset = y.storage_offset() + static_cast<int64_t>(i) * step;
          backend(y).copy(make_view(y, xs[i].impl().sizes, strides, offset), xs[i]);
        }
        return Result{y, {}, [d, count = xs.size()](const Backward& b) -> Grads {
                        Grads grads(count);
                        for (size_t i = 0; i < count; ++i) {
                          if (b.needs(i)) grads[i] = select(b.grad(), static_cast<int64_t>(d), static_cast<int64_t>(i));
                        }
                        return grads;
                      }};
      },
      tensors);
}

TANDEM_OPS std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  const OpScope op("chunk");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0 && chunks > 0, ShapeError,
               "cannot split {} into {} chunks; x must have a dimension, and chunks must be at least 1",
               to_string(x.sizes()), chunks);
  const int64_t d = wrap_dim(dim, x.dim());
  const int64_t size = x.size(d), length = size / chunks + (size % chunks != 0 ? 1 : 0);
  const int64_t count = length > 0 ? (size - 1) / length + 1 : chunks;  // an empty dimension gives empty parts
  constexpr int64_t most = int64_t{1} << 24;
  TANDEM_CHECK(count <= most, ShapeError,
               "dimension {} of {} in {} chunks gives {} tensors, more than {}; use fewer chunks", d,
               to_string(x.sizes()), chunks, count, most);
  std::vector<int64_t> lengths(static_cast<size_t>(count), length);
  if (count > 0) lengths.back() = size - (count - 1) * length;
  return split(x, lengths, d);
}

}  // namespace tandem
