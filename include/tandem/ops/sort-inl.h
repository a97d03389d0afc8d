#pragma once
#include <algorithm>
#include <cmath>
#include <string>

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
#include "tandem/ops/sort.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns `x` for the kernels: rank 0 becomes rank 1. Without history.
inline Tensor as_row(const Tensor& x) { return x.dim() > 0 ? x : make_view(x, {1}, {1}, x.storage_offset()); }

inline int64_t length_along(const Tensor& x, int64_t d) { return x.dim() == 0 ? 1 : x.size(d); }

/// Throws ShapeError for rows of x that are too long for the kernels.
inline void check_row_length(const Tensor& x, int64_t length) {
  TANDEM_CHECK(length < (int64_t{1} << 32) - 1, ShapeError,
               "x is {}, but rows of 2^32 elements or more cannot be sorted; split them", checks::show(x));
}

/// x's sizes with the entry for dimension `d` replaced.
inline Dims resized(const Tensor& x, int64_t d, int64_t size) {
  Dims sizes = x.impl().sizes;
  if (!sizes.empty()) sizes[static_cast<size_t>(d)] = size;
  return sizes;
}
/// Those sizes, or without dimension `d` unless `keepdim`.
inline Dims sizes_of_one(const Tensor& x, int64_t d, bool keepdim) {
  Dims sizes = resized(x, d, 1);
  if (!keepdim && !sizes.empty()) sizes.erase(static_cast<size_t>(d));
  return sizes;
}

/// The result of an op that selects elements of x along `d`: values and indices. `kept`: their sizes in x's rank.
inline Result selected(const Tensor& x, const Tensor& values, const Tensor& indices, int64_t d, const Dims& kept) {
  return Result{{values, indices}, save(indices), [d, kept, sizes = x.impl().sizes](const Backward& b) -> Grads {
                  return {gather_backward(with_shape(b.grad(), kept), sizes, d, with_shape(b.saved(0), kept))};
                }};
}

inline std::tuple<Tensor, Tensor> pair_of(const std::vector<Tensor>& out) { return {out[0], out[1]}; }

/// kthvalue and the medians along a dimension.
template <FixedString Name>
std::tuple<Tensor, Tensor> ranked_along(const Op<Name>& op, kernels::Rank rank, const Tensor& x, int64_t d, int64_t k,
                                        bool keepdim) {
  check_row_length(x, length_along(x, d));
  const Dims kept = resized(x, d, 1), sizes = sizes_of_one(x, d, keepdim);
  return pair_of(op.apply_n(
      [&](const Tensor& x) {
        const Tensor values = empty(sizes, x.options()), indices = empty(sizes, x.options().dtype(kLong));
        if (values.numel() > 0) {
          const Dims row_sizes = x.dim() == 0 ? Dims{1} : kept;
          const Dims strides = contiguous_strides(row_sizes);
          backend(x).select_ranked(make_view(values, row_sizes, strides, values.storage_offset()),
                                   make_view(indices, row_sizes, strides, indices.storage_offset()), rank, as_row(x), d,
                                   k);
        }
        return selected(x, values, indices, d, kept);
      },
      x));
}

template <FixedString Name>
std::tuple<Tensor, Tensor> median_along(const Op<Name>& op, kernels::Rank rank, const Tensor& x, int64_t dim,
                                        bool keepdim) {
  checks::defined("x", x);
  checks::not_bool(x);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(length_along(x, d) > 0, IndexError, "dimension {} of {} has no elements; give at least one", d,
               checks::show(x));
  return ranked_along(op, rank, x, d, 0, keepdim);
}

/// The median of all elements.
template <FixedString Name>
Tensor median_of_all(const Op<Name>& op, kernels::Rank rank, const Tensor& x) {
  checks::defined("x", x);
  checks::not_bool(x);
  check_row_length(x, x.numel());
  TANDEM_CHECK(x.numel() > 0 || x.is_floating_point(), ShapeError, "{} has no elements; give at least one",
               checks::show(x));
  return op.apply(
      [&](const Tensor& x) {
        if (x.numel() == 0)
          return Result{full({}, NAN, x.options()), {}, [s = x.impl().sizes](const Backward& b) -> Grads {
                          return {zeros(s, b.grad().options())};
                        }};
        const Tensor y = empty({}, x.options()), index = empty({1}, x.options().dtype(kLong));
        backend(x).select_ranked(as_row(y), index, rank, reshape(x, {x.numel()}), 0, 0);
        return Result{y, save(x, y), [](const Backward& b) -> Grads {
                        const Tensor x = b.saved(0), y = b.saved(1);
                        const Tensor equal = logical_or(eq(x, y), logical_and(isnan(x), isnan(y)));
                        // Counted in a wide dtype: f16 counts exactly only to 2^11.
                        const DType wide = checks::sum_dtype(x.dtype());
                        const Tensor share = div(to(b.grad(), wide), sum(equal, wide));
                        return {mul(to(equal, x.dtype()), to(share, x.dtype()))};
                      }};
      },
      x);
}

// ---- quantiles

/// How a quantile between two ranks is found.
enum class Interpolation : uint8_t { linear, lower, higher, midpoint, nearest };

inline Interpolation interpolation_named(std::string_view name) {
  constexpr std::string_view names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  const auto* found = std::find(std::begin(names), std::end(names), name);
  TANDEM_CHECK(found != std::end(names), StateError,
               "interpolation is '{}', but must be linear, lower, higher, midpoint or nearest", std::string(name));
  return static_cast<Interpolation>(found - std::begin(names));
}

/// Quantiles of rows along the last dimension; q: [m], y: [m, ...]. Composed of differentiable ops.
inline Tensor quantiles_of_rows(const Tensor& x, const Tensor& q, Interpolation rule, bool ignore_nan) {
  const Tensor sorted = std::get<0>(sort(x, -1));
  const int64_t n = x.size(-1);
  const Tensor missing = isnan(sorted);
  Tensor ranks;  // [..., m]
  if (ignore_nan) {
    const Tensor last = rsub(sum(missing, {-1}, true, x.dtype()), n - 1);
    ranks = mul(clamp(last, 0), q);
  } else {  // a NaN is the last element
    const Tensor any_missing = narrow(missing, -1, n - 1, 1);
    ranks = where(any_missing, full({}, n - 1, x.options()), mul(q, n - 1));
  }
  if (rule == Interpolation::lower) ranks = floor(ranks);
  if (rule == Interpolation::higher) ranks = ceil(ranks);
  if (rule == Interpolation::nearest) ranks = round(ranks);
  const Tensor below = floor(ranks.detach());
  Tensor y = gather(sorted, -1, to(below, kLong));
  if (rule == Interpolation::linear || rule == Interpolation::midpoint) {
    const Tensor above = gather(sorted, -1, to(ceil(ranks.detach()), kLong));
    const Tensor weight = rule == Interpolation::linear ? sub(ranks, below) : full({}, 0.5, x.options());
    // Where the rank is whole both are one element, and inf - inf would be NaN.
    y = where(eq(ranks, below), y, add(y, mul(weight, sub(above, y))));
  }
  Dims order{x.dim() - 1};
  for (int64_t i = 0; i + 1 < x.dim(); ++i) order.push_back(i);
  return permute(y, order);
}

template <FixedString Name>
Tensor quantile_op(const Op<Name>& op, const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  checks::floating("x", x);
  checks::floating("q", q);
  const int64_t d = dim ? wrap_dim(*dim, x.dim()) : 0;
  const Interpolation rule = interpolation_named(interpolation);
  TANDEM_CHECK(x.numel() > 0, ShapeError, "x is {}, but must have elements", checks::show(x));
  TANDEM_CHECK(q.dim() <= 1, ShapeError, "q is {}, but must have rank 0 or 1; flatten() it", checks::show(q));
  check_devices({&x, &q});
  // The op itself only casts as autocast says; the rest is composed, so that its parts give the derivatives.
  const Tensor cast = op.apply(
      [](const Tensor& x) {
        return Result{x, {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
      },
      x);
  TANDEM_CHECK(q.dtype() == cast.dtype() || q.dtype() == x.dtype() || q.dtype() == checks::sum_dtype(x.dtype()),
               DTypeError, "q is {}, but x is {}; convert q with .to(x.dtype())", checks::show(q), checks::show(x));
  const DType wide = checks::sum_dtype(cast.dtype());
  Tensor rows = to(cast, wide);
  if (!dim || x.dim() == 0) {
    rows = reshape(rows, {x.numel()});
  } else if (d != x.dim() - 1) {
    Dims order;
    for (int64_t i = 0; i < x.dim(); ++i) {
      if (i != d) order.push_back(i);
    }
    order.push_back(d);
    rows = permute(rows, order);
  }
  const Tensor levels = to(q, wide);
  const Tensor y = quantiles_of_rows(rows, reshape(levels, {q.numel()}), rule, ignore_nan);
  Dims sizes;
  if (q.dim() == 1) sizes.push_back(q.size(0));
  for (int64_t i = 0; i < x.dim(); ++i) {
    const bool reduced = !dim || i == d;
    if (!reduced || keepdim) sizes.push_back(reduced ? 1 : x.size(i));
  }
  return to(reshape(y, sizes), cast.dtype());
}

/// A number as q. Throws StateError unless it is in [0, 1].
inline Tensor quantile_level(const Tensor& x, double q) {
  checks::floating("x", x);
  TANDEM_CHECK(q >= 0 && q <= 1, StateError, "q = {}, but must be in [0, 1]", q);
  return scalar_tensor(q, x.options().dtype(checks::sum_dtype(x.dtype())));
}
/// Throws StateError unless the entries are in [0, 1], on the CPU; elsewhere that would wait for the device.
inline void check_quantile_levels(const Tensor& q) {
  checks::floating("q", q);
  if (!q.is_cpu()) return;
  NoGradGuard no_grad;
  const Tensor inside = logical_and(ge(q, 0), le(q, 1));
  TANDEM_CHECK(all(inside).item<bool>(), StateError, "q is {} with entries outside [0, 1]", checks::show(q));
}

// ---- distinct elements

using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

/// Distinct runs: `changes` (bool, [n]) is true for each row but the first that differs from the row before. `order`
/// (optional) is the position of each sorted row. take(positions) returns the rows at these positions.
template <class Take>
ThreeTensors distinct_runs(const Tensor& changes, const Tensor& order, int64_t n, IntArrayRef inverse_sizes,
                           bool return_inverse, bool return_counts, Take take) {
  const TensorOptions options = changes.options().dtype(kLong);
  Tensor inverse = empty({0}, options), counts = empty({0}, options);
  if (n == 0) {
    if (return_inverse) inverse = zeros(inverse_sizes, options);
    return {take(empty({0}, options)), inverse, counts};
  }
  const Tensor run = cumsum(changes, 0);  // number of each row's run
  const int64_t total = select(run, 0, n - 1).template item<int64_t>() + 1;
  const Tensor lengths = scatter_add(zeros({total}, options), 0, run, ones({n}, options));
  const Tensor first = sub(cumsum(lengths, 0), lengths);
  const Tensor values = take(order.defined() ? gather(order, 0, first) : first);
  if (return_inverse) {
    inverse = order.defined() ? scatter_add(zeros({n}, options), 0, order, run) : run;
    inverse = reshape(inverse, inverse_sizes);
  }
  if (return_counts) counts = lengths;
  return {values, inverse, counts};
}

/// Whether each element but the first differs from the one before; false for the first.
inline Tensor changes_of(const Tensor& x) {
  const int64_t n = x.size(0);
  const Tensor first = zeros({std::min<int64_t>(n, 1)}, x.options().dtype(kBool));
  if (n <= 1) return first;
  return cat({first, ne(narrow(x, 0, 1, n - 1), narrow(x, 0, 0, n - 1))}, 0);
}

/// The distinct elements of the flattened x.
inline ThreeTensors distinct_elements(const Tensor& given, bool ordered, bool return_inverse, bool return_counts) {
  const Tensor x = given.detach();
  const Tensor row = reshape(x, {x.numel()});
  Tensor values = row, order;
  if (ordered) std::tie(values, order) = sort(row, 0);
  return distinct_runs(changes_of(values), order, x.numel(), x.sizes(), return_inverse, return_counts,
                       [&](const Tensor& at) { return index_select(row, 0, at); });
}

/// The distinct slices of x along `dim`.
inline ThreeTensors distinct_slices(const Tensor& given, int64_t dim, bool ordered, bool return_inverse,
                                    bool return_counts) {
  const Tensor x = given.detach();
  const int64_t d = wrap_dim(dim, x.dim()), n = length_along(x, d);
  TANDEM_CHECK(x.dim() > 0, ShapeError, "x is {}, but must have at least rank 1", checks::show(x));
  for (int64_t i = 0; i < x.dim(); ++i) {
    TANDEM_CHECK(x.size(i) > 0 || i == d, ShapeError, "x is {}, whose dimension {} has no elements; slices need some",
                 checks::show(x), i);
  }
  const auto take = [&](const Tensor& at) { return index_select(x, d, at); };
  const TensorOptions flags = x.options().dtype(kBool);
  if (n == 0) return distinct_runs(zeros({0}, flags), {}, 0, {0}, return_inverse, return_counts, take);
  Tensor rows = reshape(movedim(x, d, 0), {n, x.numel() / n}), order;
  const int64_t width = rows.size(1);
  if (ordered) {  // stable sorts by one column after another, the last first
    for (int64_t c = width; c-- > 0;) {
      const Tensor column = select(rows, 1, c);
      const Tensor by_column = argsort(order.defined() ? gather(column, 0, order) : column, 0);
      order = order.defined() ? gather(order, 0, by_column) : by_column;
    }
    rows = index_select(rows, 0, order);
  }
  Tensor changes = zeros({1}, flags);
  if (n > 1) {
    const Tensor differ = ne(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
    changes = cat({changes, gt(sum(differ, {1}), 0)}, 0);
  }
  return distinct_runs(changes, order, n, {n}, return_inverse, return_counts, take);
}

}  // namespace detail

TANDEM_OPS std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending) {
  const Op<"sort"> op;
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim());
  detail::check_row_length(x, detail::length_along(x, d));
  return detail::pair_of(op.apply_n(
      [&](const Tensor& x) {
        const Tensor values = empty_like(x), indices = empty_like(x, kLong);
        if (x.numel() > 0) {
          backend(x).sort(detail::as_row(values), detail::as_row(indices), detail::as_row(x), d, descending);
        }
        return detail::selected(x, values, indices, d, x.impl().sizes);
      },
      x));
}
TANDEM_OPS std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool>, int64_t dim, bool descending) {
  return sort(x, dim, descending);
}
TANDEM_OPS Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  const OpScope op("argsort");
  checks::defined("x", x);
  return std::get<1>(sort(x.detach(), dim, descending));
}
TANDEM_OPS Tensor msort(const Tensor& x) {
  const OpScope op("msort");
  return std::get<0>(sort(x, 0));
}

TANDEM_OPS std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) {
  const Op<"topk"> op;
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim()), n = detail::length_along(x, d);
  TANDEM_CHECK(k >= 0 && k <= n, IndexError, "k = {}, but dimension {} of {} has {} elements; k must be in [0, {}]", k,
               d, checks::show(x), n, n);
  detail::check_row_length(x, n);
  const Dims sizes = detail::resized(x, d, k);
  return detail::pair_of(op.apply_n(
      [&](const Tensor& x) {
        const Tensor values = empty(sizes, x.options()), indices = empty(sizes, x.options().dtype(kLong));
        if (values.numel() > 0) {
          backend(x).topk(detail::as_row(values), detail::as_row(indices), detail::as_row(x), d, largest, sorted);
        }
        return detail::selected(x, values, indices, d, sizes);
      },
      x));
}

TANDEM_OPS std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  const Op<"kthvalue"> op;
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim()), n = detail::length_along(x, d);
  TANDEM_CHECK(k >= 1 && k <= n, IndexError, "k = {}, but dimension {} of {} has {} elements; k must be in [1, {}]", k,
               d, checks::show(x), n, n);
  return detail::ranked_along(op, kernels::Rank::kth, x, d, k - 1, keepdim);
}

TANDEM_OPS Tensor median(const Tensor& x) { return detail::median_of_all(Op<"median">(), kernels::Rank::median, x); }
TANDEM_OPS std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim) {
  return detail::median_along(Op<"median">(), kernels::Rank::median, x, dim, keepdim);
}
TANDEM_OPS Tensor nanmedian(const Tensor& x) {
  return detail::median_of_all(Op<"nanmedian">(), kernels::Rank::nanmedian, x);
}
TANDEM_OPS std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  return detail::median_along(Op<"nanmedian">(), kernels::Rank::nanmedian, x, dim, keepdim);
}

TANDEM_OPS std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim, bool keepdim) {
  const OpScope op("mode");
  checks::defined("x", x);
  const int64_t d = wrap_dim(dim, x.dim()), n = detail::length_along(x, d);
  TANDEM_CHECK(n > 0, IndexError, "dimension {} of {} has no elements; give at least one", d, checks::show(x));
  const Dims sizes = detail::sizes_of_one(x, d, keepdim);
  Tensor index;
  {
    NoGradGuard no_grad;
    const Tensor rows = x.dim() == 0 ? reshape(x, {1}) : x.detach();
    const auto [sorted, order] = sort(rows, d);
    // The length of the run of equal elements up to each one; its first maximum is the end of the longest run.
    Dims along(static_cast<size_t>(rows.dim()), 1);
    along[static_cast<size_t>(d)] = n;
    const Tensor place = view(arange(n, TensorOptions(kLong).device(x.device())), along);
    const Tensor first = zeros(detail::resized(rows, d, 1), rows.options().dtype(kLong));
    Tensor start = first;  // of each element's run
    if (n > 1) {
      const Tensor differs = ne(narrow(sorted, d, 1, n - 1), narrow(sorted, d, 0, n - 1));
      start = std::get<0>(cummax(cat({first, where(differs, narrow(place, d, 1, n - 1), 0)}, d), d));
    }
    const Tensor end = argmax(sub(place, start), d, true);
    index = reshape(gather(order, d, end), detail::resized(x, d, 1));
  }
  return {reshape(gather(x, d, index), sizes), reshape(index, sizes)};
}

TANDEM_OPS Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) {
  const Op<"quantile"> op;
  detail::check_quantile_levels(q);
  return detail::quantile_op(op, x, q, dim, keepdim, interpolation, false);
}
TANDEM_OPS Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) {
  const Op<"quantile"> op;
  return detail::quantile_op(op, x, detail::quantile_level(x, q), dim, keepdim, interpolation, false);
}
TANDEM_OPS Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                              std::string_view interpolation) {
  const Op<"nanquantile"> op;
  detail::check_quantile_levels(q);
  return detail::quantile_op(op, x, q, dim, keepdim, interpolation, true);
}
TANDEM_OPS Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                              std::string_view interpolation) {
  const Op<"nanquantile"> op;
  return detail::quantile_op(op, x, detail::quantile_level(x, q), dim, keepdim, interpolation, true);
}

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool, bool return_inverse, bool return_counts) {
  const OpScope op("_unique2");
  checks::defined("x", x);
  return detail::distinct_elements(x, true, return_inverse, return_counts);
}
TANDEM_OPS std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool, bool return_inverse) {
  const OpScope op("_unique");
  checks::defined("x", x);
  const auto [values, inverse, counts] = detail::distinct_elements(x, true, return_inverse, false);
  return {values, inverse};
}
TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, bool, bool return_inverse,
                                                         bool return_counts) {
  const OpScope op("unique_dim");
  checks::defined("x", x);
  return detail::distinct_slices(x, dim, true, return_inverse, return_counts);
}
TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse,
                                                                 bool return_counts, std::optional<int64_t> dim) {
  const OpScope op("unique_consecutive");
  checks::defined("x", x);
  if (dim) return detail::distinct_slices(x, *dim, false, return_inverse, return_counts);
  return detail::distinct_elements(x, false, return_inverse, return_counts);
}

}  // namespace tandem
