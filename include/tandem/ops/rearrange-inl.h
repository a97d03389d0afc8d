#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/remap-inl.h"
#include "tandem/ops/scatter_view-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

// ---- flip and roll

TANDEM_OPS Tensor flip(const Tensor& x, IntArrayRef dims) {
  const Op<"flip"> op;
  checks::defined("the input", x);
  Dims shift(x.sizes().size(), 0);
  std::array<bool, kMaxRank> is_flipped{};
  for (const int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, x.dim());
    bool& flipped = is_flipped[static_cast<size_t>(d)];
    TANDEM_CHECK(!flipped, ShapeError, "dimension {} appears twice in {}; list each once", d, to_string(dims));
    flipped = true;
    // Index 0 comes from index n - 1, from where the reflection leads back.
    if (x.dim() > 0) shift[static_cast<size_t>(d)] = std::min<int64_t>(0, 1 - x.size(d));
  }
  const IndexMap map{Border::reflect, shift};
  return detail::remap_once<"flip">(x, x.impl().sizes, map, map);
}
TANDEM_OPS Tensor fliplr(const Tensor& x) {
  const OpScope op("fliplr");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must have rank 2 or more; use flip()", checks::show(x));
  return flip(x, {1});
}
TANDEM_OPS Tensor flipud(const Tensor& x) {
  const OpScope op("flipud");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() >= 1, ShapeError, "x is {}, but must have rank 1 or more; unsqueeze(0) it", checks::show(x));
  return flip(x, {0});
}

TANDEM_OPS Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims) {
  const Op<"roll"> op;
  checks::defined("the input", x);
  if (dims.empty()) {
    TANDEM_CHECK(shifts.size() == 1, ShapeError, "shifts are {} without dims; give one shift, or dims for each",
                 to_string(shifts));
    return reshape(roll(reshape(x, {-1}), shifts, {0}), x.sizes());
  }
  TANDEM_CHECK(shifts.size() == dims.size(), ShapeError, "shifts are {}, but dims are {}; give one shift for each",
               to_string(shifts), to_string(dims));
  Dims forth(x.sizes().size(), 0), back(x.sizes().size(), 0);
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t d = wrap_dim(dims[k], x.dim());
    if (x.dim() == 0 || x.size(d) == 0) continue;
    const int64_t n = x.size(d);
    int64_t& shift = forth[static_cast<size_t>(d)];
    shift = (shift + (shifts[k] % n + n)) % n;
    back[static_cast<size_t>(d)] = (n - shift) % n;
  }
  return detail::remap_once<"roll">(x, x.impl().sizes, {Border::circular, forth}, {Border::circular, back});
}

TANDEM_OPS Tensor rot90(const Tensor& x, int64_t k, IntArrayRef dims) {
  const OpScope op("rot90");
  checks::defined("the input", x);
  TANDEM_CHECK(dims.size() == 2 && x.dim() >= 2, ShapeError,
               "dims are {} and x is {}; give two dimensions of a tensor of rank 2 or more", to_string(dims),
               checks::show(x));
  const int64_t a = wrap_dim(dims[0], x.dim()), b = wrap_dim(dims[1], x.dim());
  TANDEM_CHECK(a != b, ShapeError, "dims are {}; they must be different", to_string(dims));
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(x, {b}), a, b);
    case 2:
      return flip(x, {a, b});
    case 3:
      return transpose(flip(x, {a}), a, b);
    default:
      return clone(x, MemoryFormat::Contiguous);
  }
}

// ---- repetitions: an expanded view, and one copy of it

namespace detail {

/// A contiguous copy, also of a contiguous x.
inline Tensor copied(const Tensor& x) { return x.is_contiguous() ? clone(x, MemoryFormat::Contiguous) : contiguous(x); }

/// The product, for a size. Throws ShapeError if it overflows.
inline int64_t repeated_size(int64_t size, int64_t repeats) {
  const Checked product = Checked(size) * repeats;
  TANDEM_CHECK(product.fits(), ShapeError, "{} entries repeated {} times exceed int64; repeat them less", size,
               repeats);
  return *product.value();
}

}  // namespace detail

TANDEM_OPS Tensor repeat(const Tensor& x, IntArrayRef repeats) {
  const OpScope op("repeat");
  checks::defined("the input", x);
  TANDEM_CHECK(static_cast<int64_t>(repeats.size()) >= x.dim(), ShapeError,
               "repeats are {}, but x is {}; give a number for each dimension", to_string(repeats), checks::show(x));
  const size_t lead = repeats.size() - static_cast<size_t>(x.dim());
  Dims result;
  size_t expanded_rank = repeats.size();
  for (size_t d = 0; d < repeats.size(); ++d) {
    TANDEM_CHECK(repeats[d] >= 0, ShapeError, "{} in repeats {} is negative; use at least 0", repeats[d],
                 to_string(repeats));
    const int64_t size = d < lead ? 1 : x.sizes()[d - lead];
    result.push_back(detail::repeated_size(size, repeats[d]));
    if (size != 1 && repeats[d] != 1) ++expanded_rank;
  }
  if (expanded_rank > kMaxRank) {  // the first half of the dimensions, then the rest
    std::vector<int64_t> front = repeats.vec(), back = repeats.vec();
    const auto middle = static_cast<std::ptrdiff_t>((lead + repeats.size() + 1) / 2);
    std::fill(front.begin() + middle, front.end(), 1);
    std::fill(back.begin(), back.begin() + middle, 1);
    return repeat(repeat(x, front), back);
  }
  // [n0, n1] becomes [1, n0, 1, n1], then [r0, n0, r1, n1], then [r0 n0, r1 n1].
  Dims split, expanded;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < lead ? 1 : x.sizes()[d - lead];
    if (size != 1 && repeats[d] != 1) {
      split.push_back(1);
      expanded.push_back(repeats[d]);
    }
    split.push_back(size);
    expanded.push_back(size == 1 ? repeats[d] : size);
  }
  return detail::with_shape(detail::copied(expand(reshape(x, split), expanded)), result);
}

TANDEM_OPS Tensor tile(const Tensor& x, IntArrayRef repeats) {
  const OpScope op("tile");
  checks::defined("the input", x);
  std::vector<int64_t> all(repeats.size() < x.sizes().size() ? x.sizes().size() - repeats.size() : 0, 1);
  all.insert(all.end(), repeats.begin(), repeats.end());
  return repeat(x, all);
}

namespace detail {

/// Returns x and the dimension in which repeat_interleave repeats: x flat, without a dimension.
inline std::pair<Tensor, int64_t> interleaved(const Tensor& x, std::optional<int64_t> dim) {
  checks::defined("the input", x);
  if (!dim) return {reshape(x, {-1}), 0};
  const int64_t d = wrap_dim(*dim, x.dim());
  return {x.dim() == 0 ? reshape(x, {1}) : x, d};
}

/// Checks the numbers of repeat_interleave and returns them.
inline std::vector<int64_t> repeat_counts(const Tensor& repeats) {
  checks::index("repeats", repeats);
  TANDEM_CHECK(repeats.dim() <= 1, ShapeError, "repeats is {}, but must have rank 1 or 0; flatten() it",
               checks::show(repeats));
  NoGradGuard no_grad;
  const Tensor counts = contiguous(to(repeats, Device(kCPU), kLong));
  std::vector<int64_t> all(static_cast<size_t>(counts.numel()));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = counts.raw<int64_t>()[i];
    TANDEM_CHECK(all[i] >= 0, StateError, "repeats[{}] = {} is negative; use at least 0", i, all[i]);
  }
  return all;
}

/// Index i counts[i] times, for all i; `dtype` is i64 or i32.
inline Tensor repeated_indices(const std::vector<int64_t>& counts, DType dtype, Device device) {
  Checked total = 0;
  for (const int64_t n : counts) total += n;
  TANDEM_CHECK(total.fits(), ShapeError, "repeats add up to {}; use smaller numbers", to_string(total));
  const Tensor indices = empty({*total.value()}, TensorOptions(kLong).device(kCPU));
  int64_t* p = indices.raw<int64_t>();
  for (size_t i = 0; i < counts.size(); ++i) p = std::fill_n(p, counts[i], static_cast<int64_t>(i));
  return to(indices, device, dtype);
}

}  // namespace detail

TANDEM_OPS Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim,
                                    std::optional<int64_t> /*output_size*/) {
  const OpScope op("repeat_interleave");
  const auto [flat, d] = detail::interleaved(x, dim);
  TANDEM_CHECK(repeats >= 0, StateError, "repeats = {} is negative; use at least 0", repeats);
  Dims expanded = flat.impl().sizes, result = expanded;
  const size_t at = static_cast<size_t>(d);
  result[at] = detail::repeated_size(result[at], repeats);
  if (flat.dim() == kMaxRank) {  // there is no dimension to spare
    const std::vector<int64_t> counts(static_cast<size_t>(flat.size(d)), repeats);
    return index_select(flat, d, detail::repeated_indices(counts, kLong, x.device()));
  }
  expanded.insert(at + 1, repeats);
  return detail::with_shape(detail::copied(expand(unsqueeze(flat, d + 1), expanded)), result);
}
TANDEM_OPS Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                                    std::optional<int64_t> /*output_size*/) {
  const OpScope op("repeat_interleave");
  const auto [flat, d] = detail::interleaved(x, dim);
  std::vector<int64_t> counts = detail::repeat_counts(repeats);
  const size_t n = static_cast<size_t>(flat.size(d));
  if (counts.size() == 1) return repeat_interleave(flat, counts[0], d);
  TANDEM_CHECK(counts.size() == n, ShapeError,
               "repeats has {} numbers, but dimension {} of {} has {} entries; give as many, or one for all",
               counts.size(), d, to_string(flat.sizes()), n);
  return index_select(flat, d, detail::repeated_indices(counts, kLong, x.device()));
}
TANDEM_OPS Tensor repeat_interleave(const Tensor& repeats) {
  const OpScope op("repeat_interleave");
  checks::index("repeats", repeats);
  TANDEM_CHECK(repeats.dim() == 1, ShapeError, "repeats is {}, but must have rank 1; flatten() it",
               checks::show(repeats));
  return detail::repeated_indices(detail::repeat_counts(repeats), repeats.dtype(), repeats.device());
}

// ---- other names and forms of views

TANDEM_OPS Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  const OpScope op("movedim");
  checks::defined("the input", x);
  TANDEM_CHECK(source.size() == destination.size(), ShapeError,
               "source is {}, but destination is {}; give a place for each dimension", to_string(source),
               to_string(destination));
  constexpr int64_t unset = -1;
  Dims order(x.sizes().size(), unset);
  std::array<bool, kMaxRank> is_moved{};
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], x.dim()), to = wrap_dim(destination[i], x.dim());
    if (x.dim() == 0) continue;
    TANDEM_CHECK(!is_moved[static_cast<size_t>(from)] && order[static_cast<size_t>(to)] == unset, ShapeError,
                 "a dimension appears twice in source {} or destination {}; list each once", to_string(source),
                 to_string(destination));
    is_moved[static_cast<size_t>(from)] = true;
    order[static_cast<size_t>(to)] = from;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d != unset) continue;
    while (is_moved[static_cast<size_t>(next)]) ++next;
    d = next++;
  }
  return permute(x, order);
}
TANDEM_OPS Tensor movedim(const Tensor& x, int64_t source, int64_t destination) {
  return movedim(x, IntArrayRef(source), IntArrayRef(destination));
}
TANDEM_OPS Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  const OpScope op("moveaxis");
  return movedim(x, source, destination);
}
TANDEM_OPS Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination) {
  const OpScope op("moveaxis");
  return movedim(x, source, destination);
}
TANDEM_OPS Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) {
  const OpScope op("swapaxes");
  return transpose(x, axis0, axis1);
}
TANDEM_OPS Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) {
  const OpScope op("swapdims");
  return transpose(x, dim0, dim1);
}

TANDEM_OPS Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) {
  const OpScope op("unflatten");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0 && !sizes.empty(), ShapeError,
               "cannot split a dimension of {} into sizes {}; give a tensor of rank 1 or more and at least one size",
               to_string(x.sizes()), to_string(sizes));
  const size_t d = static_cast<size_t>(wrap_dim(dim, x.dim()));
  Dims result;
  Checked known = 1;
  size_t unknown = kMaxRank;
  for (size_t i = 0; i < d; ++i) result.push_back(x.sizes()[i]);
  for (const int64_t size : sizes) {
    TANDEM_CHECK(size >= 0 || (size == -1 && unknown == kMaxRank), ShapeError,
                 "sizes are {}; they must be at least 0, and only one may be -1", to_string(sizes));
    if (size == -1) {
      unknown = result.size();
    } else {
      known *= size;
    }
    result.push_back(size);
  }
  const int64_t product = known.value_or(0), size = x.sizes()[d];
  const bool fits = unknown < kMaxRank ? product != 0 && size % product == 0 : known == size;
  TANDEM_CHECK(fits, ShapeError, "dimension {} of {} cannot be split into sizes {}; their product must be {}", d,
               to_string(x.sizes()), to_string(sizes), size);
  if (unknown < kMaxRank) result[unknown] = size / product;
  for (size_t i = d + 1; i < x.sizes().size(); ++i) result.push_back(x.sizes()[i]);
  return view(x, result);
}
TANDEM_OPS Tensor ravel(const Tensor& x) {
  const OpScope op("ravel");
  return reshape(x, {-1});
}
TANDEM_OPS Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const OpScope op("narrow_copy");
  return detail::copied(narrow(x, dim, start, length));
}

// ---- windows

namespace detail {

inline int64_t window_count(int64_t n, int64_t size, int64_t step) { return (n - size) / step + 1; }

/// gx for y = unfold(x), where x has `sizes`: the sum over all windows that contain an element. Adds `step` entries of
/// all windows at a time, which do not overlap.
inline Tensor unfold_backward(const Tensor& gy, const Dims& sizes, int64_t d, int64_t size, int64_t step) {
  const Op<"unfold_backward"> op;
  return op.apply(
      [&](const Tensor& gy) {
        const Tensor gx = zeros(sizes, gy.options().dtype(size > step ? checks::sum_dtype(gy.dtype()) : gy.dtype()));
        const size_t at = static_cast<size_t>(d), rank = sizes.size();
        const int64_t along = rank == 0 ? 1 : gx.strides()[at];
        for (int64_t begin = 0; begin < size && gy.numel() > 0; begin += step) {
          Dims part = gy.impl().sizes, strides = gx.impl().strides;
          part[part.size() - 1] = std::min(step, size - begin);
          if (rank > 0) strides[at] = (Checked(along) * step).value_or(along);  // overflows only for one window
          strides.push_back(along);
          const Tensor to = make_view(gx, part, strides, begin * along);
          const Tensor from = make_view(gy, part, gy.impl().strides, gy.storage_offset() + begin * gy.strides().back());
          if (begin == 0) {
            backend(gx).copy(to, from);
          } else {
            backend(gx).binary(to, kernels::Binary::add, to, from, 1);
          }
        }
        return Result{to(gx, gy.dtype()), {}, [d, size, step](const Backward& b) -> Grads {
                        return {unfold(b.grad(), d, size, step)};
                      }};
      },
      gy);
}

}  // namespace detail

TANDEM_OPS Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  const Op<"unfold"> op;
  checks::defined("the input", x);
  const int64_t d = wrap_dim(dim, x.dim()), n = x.dim() == 0 ? 1 : x.size(d);
  TANDEM_CHECK(size >= 0 && size <= n, ShapeError,
               "windows of {} entries do not fit dimension {} of {}; use at most {}", size, d, to_string(x.sizes()), n);
  TANDEM_CHECK(step > 0, ShapeError, "step = {}; it must be at least 1", step);
  return op.apply_view(
      [&](const Tensor& x) {
        Dims sizes = x.impl().sizes, strides = x.impl().strides;
        int64_t along = 1;
        if (x.dim() > 0) {
          const size_t at = static_cast<size_t>(d);
          along = strides[at];
          sizes[at] = detail::window_count(n, size, step);
          strides[at] = (Checked(along) * step).value_or(along);  // overflows only for one window
        }
        sizes.push_back(size);
        strides.push_back(along);
        return Result{make_view(x, sizes, strides, x.storage_offset()),
                      {},
                      [d, size, step, back = x.impl().sizes](const Backward& b) -> Grads {
                        return {detail::unfold_backward(b.grad(), back, d, size, step)};
                      }};
      },
      x);
}

// ---- copies with a part replaced

TANDEM_OPS Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return detail::scatter_view(Op<"select_scatter">(), x, src,
                              [dim, index](const Tensor& x) { return select(x, dim, index); });
}
TANDEM_OPS Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                                std::optional<int64_t> end, int64_t step) {
  return detail::scatter_view(Op<"slice_scatter">(), x, src,
                              [=](const Tensor& x) { return slice(x, dim, start, end, step); });
}

}  // namespace tandem
