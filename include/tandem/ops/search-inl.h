#pragma once
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/search.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/sort.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// searchsorted of checked arguments.
inline Tensor search(const Tensor& sorted, const Tensor& x, bool out_int32, bool right) {
  const Op<"searchsorted"> op;
  return op.apply(
      [&](const Tensor& sorted, const Tensor& x) {
        const Tensor y = empty(x.sizes(), x.options().dtype(out_int32 ? kInt : kLong));
        if (y.numel() == 0) return Result{y};
        const DType t =
            sorted.dim() > 0 && x.dim() == 0 ? result_type(sorted, x) : promote_types(sorted.dtype(), x.dtype());
        const Tensor sequence = contiguous(to(sorted, t)), wanted = contiguous(to(x, t));
        const int64_t n = sorted.size(-1), columns = sorted.dim() == 1 ? x.numel() : x.size(-1);
        const int64_t rows = sorted.dim() == 1 ? 1 : x.numel() / columns;
        const auto matrix = [](const Tensor& t, int64_t rows, int64_t columns) {
          return make_view(t, {rows, columns}, {columns, 1}, t.storage_offset());
        };
        backend(x).search_sorted(matrix(y, rows, columns), matrix(sequence, rows, n), matrix(wanted, rows, columns),
                                 right);
        return Result{y};
      },
      sorted.detach(), x.detach());
}

/// A number as a tensor of rank 0 beside `sorted`.
inline Tensor number_beside(const Tensor& sorted, Scalar x) {
  checks::defined("the sorted sequence", sorted);
  return scalar_tensor(x, sorted.options().dtype(result_type(sorted, x)));
}

}  // namespace detail

TANDEM_OPS Tensor searchsorted(const Tensor& sorted, const Tensor& x, bool out_int32, bool right,
                               std::optional<std::string_view> side, const Tensor& sorter) {
  const OpScope op("searchsorted");
  checks::defined("the sorted sequence", sorted);
  checks::defined("x", x);
  detail::check_devices({&sorted, &x});
  TANDEM_CHECK(!side || *side == "left" || *side == "right", StateError, "side is '{}', but must be left or right",
               std::string(*side));
  TANDEM_CHECK(!side || !right || *side == "right", StateError, "side is left, but right is true; give one of them");
  TANDEM_CHECK(sorted.dim() > 0, ShapeError, "the sorted sequence is {}, but must have at least rank 1",
               checks::show(sorted));
  bool fits = sorted.dim() == 1 || sorted.dim() == x.dim();
  for (int64_t i = 0; fits && sorted.dim() > 1 && i + 1 < x.dim(); ++i) fits = sorted.size(i) == x.size(i);
  TANDEM_CHECK(fits, ShapeError,
               "the sorted sequence is {}, but x is {}; it must have rank 1, or the sizes of x except in the last "
               "dimension",
               checks::show(sorted), checks::show(x));
  TANDEM_CHECK(!out_int32 || sorted.size(-1) <= INT32_MAX, ShapeError,
               "the sorted sequence is {}, whose positions exceed i32; use out_int32 = false", checks::show(sorted));
  Tensor sequence = sorted;
  if (sorter.defined()) {
    TANDEM_CHECK(sorter.dtype() == kLong, DTypeError, "sorter is {}, but must be i64; use argsort()",
                 checks::show(sorter));
    checks::sizes("sorter", sorter, sorted.sizes());
    sequence = gather(sorted.detach(), -1, sorter);
  }
  return detail::search(sequence, x, out_int32, right || (side && *side == "right"));
}
TANDEM_OPS Tensor searchsorted(const Tensor& sorted, Scalar x, bool out_int32, bool right,
                               std::optional<std::string_view> side, const Tensor& sorter) {
  const OpScope op("searchsorted");
  return searchsorted(sorted, detail::number_beside(sorted, x), out_int32, right, side, sorter);
}

TANDEM_OPS Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right) {
  const OpScope op("bucketize");
  checks::defined("x", x);
  checks::defined("boundaries", boundaries);
  TANDEM_CHECK(boundaries.dim() == 1, ShapeError, "boundaries is {}, but must have rank 1", checks::show(boundaries));
  return searchsorted(boundaries, x, out_int32, right);
}
TANDEM_OPS Tensor bucketize(Scalar x, const Tensor& boundaries, bool out_int32, bool right) {
  const OpScope op("bucketize");
  return bucketize(detail::number_beside(boundaries, x), boundaries, out_int32, right);
}

TANDEM_OPS Tensor histc(const Tensor& given, int64_t bins, Scalar min, Scalar max) {
  const OpScope op("histc");
  checks::floating("x", given);
  TANDEM_CHECK(bins > 0, StateError, "bins = {}, but must be positive", bins);
  double low = min.to_double(), high = max.to_double();
  NoGradGuard no_grad;
  const Tensor x = reshape(given.detach(), {given.numel()});
  if (low == high && x.numel() > 0) {
    low = tandem::min(x).item<double>();
    high = tandem::max(x).item<double>();
  }
  TANDEM_CHECK(std::isfinite(low) && std::isfinite(high), StateError,
               "the range [{}, {}] is not finite; give finite min and max", low, high);
  TANDEM_CHECK(low <= high, StateError, "min = {} is above max = {}", low, high);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const TensorOptions wide = x.options().dtype(checks::sum_dtype(x.dtype()));
  const Tensor values = to(x, wide.dtype());
  const Tensor inside = logical_and(ge(values, low), le(values, high));
  const Tensor none = zeros({bins}, x.options().dtype(kLong));  // first: refuses sizes for which bins + 1 overflows
  // The upper end belongs to the last interval.
  const Tensor edges = linspace(low, high, bins + 1, wide);
  const Tensor bin = clamp(sub(searchsorted(edges, values, false, true), 1), 0, bins - 1);
  return to(scatter_add(none, 0, bin, to(inside, kLong)), given.dtype());
}

TANDEM_OPS Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  const OpScope op("isin");
  checks::defined("elements", elements);
  checks::defined("test_elements", test_elements);
  checks::not_bool(elements);
  checks::not_bool(test_elements);
  detail::check_devices({&elements, &test_elements});
  NoGradGuard no_grad;
  if (test_elements.numel() == 0) return full(elements.sizes(), invert, elements.options().dtype(kBool));
  const DType t = promote_types(elements.dtype(), test_elements.dtype());
  const Tensor x = to(elements.detach(), t), sorted = std::get<0>(sort(reshape(to(test_elements.detach(), t), {-1})));
  const Tensor place = clamp(searchsorted(sorted, x), 0, sorted.numel() - 1);
  const Tensor nearest = reshape(index_select(sorted, 0, reshape(place, {-1})), x.sizes());
  return invert ? ne(nearest, x) : eq(nearest, x);
}

TANDEM_OPS Tensor isin(const Tensor& elements, Scalar test_element, bool assume_unique, bool invert) {
  const OpScope op("isin");
  return isin(elements, detail::number_beside(elements, test_element), assume_unique, invert);
}

TANDEM_OPS Tensor isin(Scalar element, const Tensor& test_elements, bool assume_unique, bool invert) {
  const OpScope op("isin");
  return isin(detail::number_beside(test_elements, element), test_elements, assume_unique, invert);
}

TANDEM_OPS Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  const OpScope op("bincount");
  checks::defined("x", x);
  TANDEM_CHECK(is_integral(x.dtype(), false), DTypeError, "x is {}, but must have an integer dtype; use .to(kLong)",
               checks::show(x));
  TANDEM_CHECK(x.dim() == 1, ShapeError, "x is {}, but must have rank 1; flatten() it", checks::show(x));
  TANDEM_CHECK(minlength >= 0, StateError, "minlength = {}, but must be at least 0", minlength);
  if (weights.defined()) {
    detail::check_devices({&x, &weights});
    checks::sizes("weights", weights, x.sizes());
  }
  int64_t bins = minlength;
  if (x.numel() > 0) {
    const int64_t least = min(x).item<int64_t>(), most = max(x).item<int64_t>();
    TANDEM_CHECK(least >= 0, StateError, "x is {} with the entry {}; entries must not be negative", checks::show(x),
                 least);
    TANDEM_CHECK(most < INT64_MAX, StateError, "x is {} with the entry {}, which is too large", checks::show(x), most);
    bins = std::max(bins, most + 1);
  }
  const bool counts = !weights.defined();
  const DType t = counts ? kLong : weights.dtype() == kFloat ? kFloat : kDouble;
  const TensorOptions options = x.options().dtype(t);
  NoGradGuard no_grad;
  return scatter_add(zeros({bins}, options), 0, to(x, kLong), counts ? ones({x.numel()}, options) : to(weights, t));
}

}  // namespace tandem
