#pragma once
#include <cmath>
#include <limits>

#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/histogram.h"
#include "tandem/ops/index.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/search.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/statistics.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns x as points [n, D] of the last dimension's size.
inline Tensor points_of(const Tensor& x, const Tensor& weight) {
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() > 1, ShapeError, "x is {}, but must have at least rank 2: points, dimensions", checks::show(x));
  if (weight.defined()) checks::sizes("weight", weight, x.sizes().slice(0, x.sizes().size() - 1));
  return reshape(x.detach(), {numel_of(x.sizes().slice(0, x.sizes().size() - 1)), x.size(-1)});
}

/// Returns bins[d] + 1 edges for each dimension d of the points.
inline std::vector<Tensor> even_edges(const Tensor& points, IntArrayRef bins, std::optional<ArrayRef<double>> range) {
  const int64_t dims = points.size(1);
  TANDEM_CHECK(static_cast<int64_t>(bins.size()) == dims, ShapeError,
               "{} numbers of bins for points of {} dimensions; give one for each", bins.size(), dims);
  TANDEM_CHECK(!range || static_cast<int64_t>(range->size()) == 2 * dims, ShapeError,
               "the range has {} numbers for {} dimensions; give a lower and an upper end for each",
               range ? range->size() : 0, dims);
  std::vector<Tensor> edges;
  for (int64_t d = 0; d < dims; ++d) {
    const auto i = static_cast<size_t>(d);
    TANDEM_CHECK(bins[i] > 0 && bins[i] < std::numeric_limits<int64_t>::max(), StateError,
                 "bins = {}, but must be positive, and the number of edges must fit int64", bins[i]);
    double low = 0, high = points.size(0) > 0 ? 0 : 1;
    if (range) {
      low = (*range)[2 * i];
      high = (*range)[2 * i + 1];
    } else if (points.size(0) > 0) {
      const auto [least, most] = aminmax(points.select(1, d));
      low = least.item<double>();
      high = most.item<double>();
    }
    TANDEM_CHECK(std::isfinite(low) && std::isfinite(high), StateError,
                 "the range [{}, {}] is not finite; give a finite range", low, high);
    TANDEM_CHECK(low <= high, StateError, "the range [{}, {}] is empty; give its lower end first", low, high);
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    edges.push_back(linspace(low, high, bins[i] + 1, points.options()));
  }
  return edges;
}

inline void check_dtype_of_points(const char* which, const Tensor& points, const Tensor& other) {
  TANDEM_CHECK(other.dtype() == points.dtype(), DTypeError, "x is {}, but {} {}; convert one with .to()",
               name(points.dtype()), which, checks::show(other));
}

/// The counts of points [n, D], which are not tracked, with a weight for each or none, between the edges of each
/// dimension.
inline Tensor count_points(const Tensor& points, TensorList edges, const Tensor& weight, bool density) {
  TANDEM_CHECK(static_cast<int64_t>(edges.size()) == points.size(1), ShapeError,
               "edges for {} dimensions, but the points have {}; give a tensor for each", edges.size(), points.size(1));
  if (weight.defined()) {
    check_devices({&points, &weight});
    check_dtype_of_points("weight is", points, weight);
  }
  const DType wide = checks::sum_dtype(points.dtype());
  Dims sizes;
  Tensor place = zeros({points.size(0)}, points.options().dtype(kLong));
  Tensor inside = ones({points.size(0)}, points.options().dtype(kBool));
  for (size_t d = 0; d < edges.size(); ++d) {
    const Tensor& edge = edges[d];
    checks::defined_at(d, edge);
    check_devices({&points, &edge});
    check_dtype_of_points("the edges are", points, edge);
    TANDEM_CHECK(edge.dim() == 1 && edge.numel() > 1, ShapeError,
                 "the edges are {}, but must have rank 1 and at least 2 elements", checks::show(edge));
    const int64_t bins = edge.numel() - 1;
    const Tensor x = contiguous(points.select(1, static_cast<int64_t>(d))), bounds = edge.detach();
    inside = logical_and(inside, logical_and(ge(x, bounds.select(0, 0)), le(x, bounds.select(0, bins))));
    const Tensor bin = clamp(sub(searchsorted(bounds, x, false, true), 1), 0, bins - 1);
    place = add(mul(place, bins), bin);
    sizes.push_back(bins);
  }
  // Counts are whole numbers until the end: f32 would not count beyond 2^24.
  const Tensor one = weight.defined() ? to(reshape(weight.detach(), {-1}), wide) : to(inside, kLong);
  const Tensor counted = where(inside, one, zeros({}, one.options()));
  Tensor counts = reshape(scatter_add(zeros({numel_of(sizes)}, one.options()), 0, place, counted), sizes);
  if (density) {
    counts = to(counts, wide);
    counts = div(counts, sum(counts));
    for (size_t d = 0; d < edges.size(); ++d) {
      Dims shape(sizes.size(), 1);
      shape[d] = sizes[d];
      const Tensor edge = to(edges[d].detach(), wide);
      counts = div(counts, reshape(sub(edge.narrow(0, 1, sizes[d]), edge.narrow(0, 0, sizes[d])), shape));
    }
  }
  return to(counts, points.dtype());
}

/// Returns x as points of one dimension, after checking the weight's sizes.
inline Tensor points_of_one_dimension(const Tensor& x, const Tensor& weight) {
  checks::floating("x", x);
  if (weight.defined()) checks::sizes("weight", weight, x.sizes());
  return reshape(x.detach(), {x.numel(), 1});
}

}  // namespace detail

TANDEM_OPS std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const Tensor& weight,
                                                bool density) {
  const OpScope op("histogram");
  const NoGradGuard no_grad;
  return {detail::count_points(detail::points_of_one_dimension(x, weight), {edges}, weight, density), edges};
}
TANDEM_OPS std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins, std::optional<ArrayRef<double>> range,
                                                const Tensor& weight, bool density) {
  const OpScope op("histogram");
  const NoGradGuard no_grad;
  const Tensor points = detail::points_of_one_dimension(x, weight);
  const std::vector<Tensor> edges = detail::even_edges(points, {bins}, range);
  return {detail::count_points(points, edges, weight, density), edges[0]};
}

TANDEM_OPS std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, TensorList edges,
                                                               std::optional<ArrayRef<double>> range,
                                                               const Tensor& weight, bool density) {
  const OpScope op("histogramdd");
  TANDEM_CHECK(!range, StateError, "a range beside edges; give the numbers of bins instead of edges, or no range");
  const NoGradGuard no_grad;
  return {detail::count_points(detail::points_of(x, weight), edges, weight, density),
          std::vector<Tensor>(edges.begin(), edges.end())};
}
TANDEM_OPS std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, IntArrayRef bins,
                                                               std::optional<ArrayRef<double>> range,
                                                               const Tensor& weight, bool density) {
  const OpScope op("histogramdd");
  const NoGradGuard no_grad;
  const Tensor points = detail::points_of(x, weight);
  std::vector<Tensor> edges = detail::even_edges(points, bins, range);
  return {detail::count_points(points, edges, weight, density), edges};
}
TANDEM_OPS std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, int64_t bins,
                                                               std::optional<ArrayRef<double>> range,
                                                               const Tensor& weight, bool density) {
  const OpScope op("histogramdd");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() > 0, ShapeError, "x is {}, but must have at least rank 2: points, dimensions", checks::show(x));
  return histogramdd(x, Dims(static_cast<size_t>(x.size(-1)), bins), range, weight, density);
}

}  // namespace tandem
