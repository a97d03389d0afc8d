#pragma once
#include <algorithm>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/gradient.h"
#include "tandem/ops/join.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The points of x along a dimension.
struct Samples {
  Tensor x;
  int64_t dim;
  int64_t size() const { return x.size(dim); }
  Tensor at(int64_t i, int64_t count = 1) const { return x.narrow(dim, i < 0 ? i + size() : i, count); }
};

/// Differences of points with equal distances.
inline Tensor even_differences(const Samples& y, double spacing, int64_t edge_order) {
  const auto scaled = [spacing](const Tensor& sum) { return div(sum, spacing); };
  const Tensor centre = scaled(sub(y.at(2, y.size() - 2), y.at(0, y.size() - 2)));
  if (edge_order == 1) {
    return cat({scaled(sub(y.at(1), y.at(0))), div(centre, 2), scaled(sub(y.at(-1), y.at(-2)))}, y.dim);
  }
  const Tensor first = sub(sub(mul(y.at(1), 2.0), mul(y.at(0), 1.5)), mul(y.at(2), 0.5));
  const Tensor last = add(sub(mul(y.at(-1), 1.5), mul(y.at(-2), 2.0)), mul(y.at(-3), 0.5));
  return cat({scaled(first), div(centre, 2), scaled(last)}, y.dim);
}

/// The derivative at the first of three points from the slopes and the distances of its neighbours.
inline Tensor end_slope(const Tensor& slope, const Tensor& next_slope, const Tensor& near, const Tensor& far) {
  return add(slope, mul(sub(slope, next_slope), div(near, add(near, far))));
}

/// Differences of points at given coordinates: the derivatives of parabolas through three points.
inline Tensor uneven_differences(const Samples& y, const Tensor& coordinates, int64_t edge_order) {
  Dims sizes(static_cast<size_t>(y.x.dim()), 1);
  sizes[static_cast<size_t>(y.dim)] = y.size();
  const Samples place = {reshape(coordinates, sizes), y.dim};
  const int64_t steps = y.size() - 1, inner = y.size() - 2;
  const auto differences = [&](const Samples& s) { return sub(s.at(1, steps), s.at(0, steps)); };
  const Samples step = {differences(place), y.dim}, slope = {div(differences(y), step.x), y.dim};
  const Tensor left = step.at(0, inner), right = step.at(1, inner), both = add(left, right);
  const Tensor centre = add(mul(slope.at(1, inner), div(left, both)), mul(slope.at(0, inner), div(right, both)));
  if (edge_order == 1) return cat({slope.at(0), centre, slope.at(-1)}, y.dim);
  return cat({end_slope(slope.at(0), slope.at(1), step.at(0), step.at(1)), centre,
              end_slope(slope.at(-1), slope.at(-2), step.at(-1), step.at(-2))},
             y.dim);
}

/// x in a floating dtype: integers in f64, where their differences are exact up to 2^53.
inline Tensor floating_samples(const Tensor& x) { return x.is_floating_point() ? x : to(x, kDouble); }
inline Tensor in_dtype_of_gradient(const Tensor& slopes, const Tensor& x) {
  return x.is_floating_point() ? slopes : to(slopes, get_default_dtype());
}

/// Returns `dims` as numbers from 0 on, or all dimensions of x if `whole`.
inline Dims gradient_dims(const Tensor& x, IntArrayRef dims, bool whole, int64_t edge_order, size_t spacings) {
  checks::defined("x", x);
  checks::not_bool(x);
  TANDEM_CHECK(edge_order == 1 || edge_order == 2, StateError, "edge_order = {}, but must be 1 or 2", edge_order);
  Dims wrapped;
  for (int64_t i = 0; i < (whole ? x.dim() : static_cast<int64_t>(dims.size())); ++i) {
    const int64_t d = whole ? i : wrap_dim(dims[static_cast<size_t>(i)], x.dim());
    TANDEM_CHECK(std::find(wrapped.begin(), wrapped.end(), d) == wrapped.end(), IndexError,
                 "dimension {} appears twice in {}", d, to_string(dims));
    wrapped.push_back(d);
  }
  TANDEM_CHECK(spacings == wrapped.size(), ShapeError, "{} spacings for {} dimensions; give one for each", spacings,
               wrapped.size());
  for (const int64_t d : wrapped) {
    TANDEM_CHECK(x.size(d) > edge_order, ShapeError,
                 "x is {}; with edge_order = {}, dimension {} needs at least {} elements", checks::show(x), edge_order,
                 d, edge_order + 1);
  }
  return wrapped;
}

inline std::vector<Tensor> even_gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, bool whole,
                                         int64_t edge_order) {
  const Dims wrapped = gradient_dims(x, dims, whole, edge_order, spacing.size());
  std::vector<Tensor> slopes;
  for (size_t i = 0; i < wrapped.size(); ++i) {
    const Tensor slope = even_differences({floating_samples(x), wrapped[i]}, spacing[i].to_double(), edge_order);
    slopes.push_back(in_dtype_of_gradient(slope, x));
  }
  return slopes;
}

inline std::vector<Tensor> uneven_gradient(const Tensor& x, TensorList coordinates, IntArrayRef dims, bool whole,
                                           int64_t edge_order) {
  const Dims wrapped = gradient_dims(x, dims, whole, edge_order, coordinates.size());
  std::vector<Tensor> slopes;
  for (size_t i = 0; i < wrapped.size(); ++i) {
    const Tensor& places = coordinates[i];
    checks::defined_at(i, places);
    check_devices({&x, &places});
    TANDEM_CHECK(places.dim() == 1 && places.numel() == x.size(wrapped[i]), ShapeError,
                 "the coordinates for dimension {} are {}, but must be [{}], as x is {}", wrapped[i],
                 checks::show(places), x.size(wrapped[i]), checks::show(x));
    const Tensor y = floating_samples(x), at = places.is_floating_point() ? places : to(places, y.dtype());
    slopes.push_back(in_dtype_of_gradient(uneven_differences({y, wrapped[i]}, at, edge_order), x));
  }
  return slopes;
}

/// The same number for each dimension that is asked for.
inline std::vector<Scalar> repeated(Scalar spacing, const Tensor& x, bool whole, size_t dims) {
  checks::defined("x", x);
  return std::vector<Scalar>(whole ? static_cast<size_t>(x.dim()) : dims, spacing);
}

}  // namespace detail

TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, std::optional<Scalar> spacing, std::optional<int64_t> dim,
                                        int64_t edge_order) {
  const OpScope op("gradient");
  const Dims dims(dim ? 1 : 0, dim.value_or(0));
  return detail::even_gradient(x, detail::repeated(spacing.value_or(1), x, !dim, 1), dims, !dim, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, Scalar spacing, IntArrayRef dims, int64_t edge_order) {
  const OpScope op("gradient");
  return detail::even_gradient(x, detail::repeated(spacing, x, false, dims.size()), dims, false, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order) {
  return gradient(x, Scalar(1), dims, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim,
                                        int64_t edge_order) {
  const OpScope op("gradient");
  const Dims dims(dim ? 1 : 0, dim.value_or(0));
  return detail::even_gradient(x, spacing, dims, !dim, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims,
                                        int64_t edge_order) {
  const OpScope op("gradient");
  return detail::even_gradient(x, spacing, dims, false, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, TensorList coordinates, std::optional<int64_t> dim,
                                        int64_t edge_order) {
  const OpScope op("gradient");
  const Dims dims(dim ? 1 : 0, dim.value_or(0));
  return detail::uneven_gradient(x, coordinates, dims, !dim, edge_order);
}
TANDEM_OPS std::vector<Tensor> gradient(const Tensor& x, TensorList coordinates, IntArrayRef dims, int64_t edge_order) {
  const OpScope op("gradient");
  return detail::uneven_gradient(x, coordinates, dims, false, edge_order);
}

}  // namespace tandem
