#pragma once
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/grid_sample.h"
#include "tandem/ops/index.h"
#include "tandem/ops/join.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The taps along one dimension, as tensors of the sizes of `number`, the grid's numbers for a dimension of n elements
/// (kernels/grid_sample.h). Weights and slopes are differentiable functions of `number`.
struct GridAxis {
  std::vector<Tensor> index, inside, weight, slope;

  GridAxis(const Tensor& number, int64_t n, const GridSampling& how) {
    using Way = GridSampling::Interpolation;
    const double size = static_cast<double>(n), factor = how.align_corners ? (size - 1) / 2 : size / 2;
    const Tensor x = how.align_corners ? mul(add(number, 1), factor) : sub(mul(add(number, 1), factor), 0.5);
    if (how.interpolation == Way::cubic) {
      const Tensor first = floor(x.detach()), t = sub(x, first);
      const auto inner = [](const Tensor& u) { return add(mul(mul(u, u), sub(mul(u, 1.25), 2.25)), 1); };
      const auto outer = [](const Tensor& u) { return add(mul(add(mul(add(mul(u, -0.75), 3.75), u), -6), u), 3); };
      const auto inner_slope = [](const Tensor& u) { return mul(u, sub(mul(u, 3.75), 4.5)); };
      const auto outer_slope = [](const Tensor& u) { return sub(mul(u, add(mul(u, -2.25), 7.5)), 6); };
      const Tensor left = add(t, 1), right = rsub(t, 1), far_right = rsub(t, 2);
      weight = {outer(left), inner(t), inner(right), outer(far_right)};
      slope = {mul(outer_slope(left), factor), mul(inner_slope(t), factor), mul(inner_slope(right), -factor),
               mul(outer_slope(far_right), -factor)};
      for (int64_t k = -1; k <= 2; ++k) add_index(moved(add(first, k), n, how).first, n);
      return;
    }
    const auto [value, sign] = moved(x.detach(), n, how);
    if (how.interpolation == Way::nearest) {
      weight = {ones_like(value)};
      slope = {zeros_like(value)};
      add_index(round(value), n);
      return;
    }
    const Tensor at = add(mul(sub(x, x.detach()), sign), value);  // the value, with its derivative
    const Tensor first = floor(value), right = sub(at, first), step = mul(sign, factor);
    weight = {rsub(right, 1), right};
    slope = {neg(step), step};
    add_index(first, n);
    add_index(add(first, 1), n);
  }

 private:
  void add_index(const Tensor& at, int64_t n) {
    inside.push_back(logical_and(ge(at, 0), lt(at, n)));
    index.push_back(to(clamp(at, 0, n - 1), kLong));
  }
  /// Positions moved into the image, and the derivative of that.
  static std::pair<Tensor, Tensor> moved(const Tensor& x, int64_t n, const GridSampling& how) {
    Tensor value = x, sign = ones_like(x);
    if (how.beyond == GridSampling::Beyond::zeros) return {value, sign};
    if (how.beyond == GridSampling::Beyond::reflection) {
      const double low = how.align_corners ? 0 : -0.5, span = static_cast<double>(how.align_corners ? n - 1 : n);
      if (span == 0) return {zeros_like(x), zeros_like(x)};
      const Tensor d = sub(x, low), distance = abs(d), flips = floor(div(distance, span));
      const Tensor extra = sub(distance, mul(flips, span)), odd = ne(remainder(flips, 2), 0);
      value = add(where(odd, rsub(extra, span), extra), low);
      sign = where(logical_xor(odd, lt(d, 0)), neg(sign), sign);
    }
    const Tensor within = logical_and(gt(value, 0), lt(value, n - 1));
    return {where(gt(value, 0), clamp(value, {}, n - 1), 0), where(within, sign, 0)};
  }
};

/// The gradients of x and grid as sums over the cells of each position, in ops, so that they can be differentiated.
inline std::pair<Tensor, Tensor> grid_sampler_slopes(const Tensor& gy, const Tensor& x, const Tensor& grid,
                                                     const GridSampling& how) {
  const int64_t dims = x.dim() - 2, samples = x.size(0), channels = x.size(1), places = grid.numel() / (samples * dims);
  Dims strides(static_cast<size_t>(dims), 1);
  for (size_t d = strides.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * x.size(static_cast<int64_t>(d) + 3);
  const int64_t elements = strides[0] * x.size(2);
  std::vector<GridAxis> axes;
  for (int64_t d = 0; d < dims; ++d) {
    axes.emplace_back(reshape(select(grid, -1, dims - 1 - d), {samples, places}), x.size(d + 2), how);
  }
  const Tensor g = reshape(gy, {samples, channels, places}), image = reshape(x, {samples, channels, elements});
  const size_t taps = axes[0].index.size();
  size_t cells = 1;
  for (int64_t d = 0; d < dims; ++d) cells *= taps;
  Tensor gx = zeros(image.sizes(), image.options());
  std::vector<Tensor> slopes(static_cast<size_t>(dims), zeros({samples, places}, x.options()));
  for (size_t cell = 0; cell < cells; ++cell) {
    std::vector<size_t> tap;
    for (size_t rest = cell, d = 0; d < axes.size(); ++d, rest /= taps) tap.push_back(rest % taps);
    Tensor index = zeros({samples, places}, x.options().dtype(kLong)), inside = ones(index.sizes(), x.options());
    for (size_t d = 0; d < axes.size(); ++d) {
      index = add(index, mul(axes[d].index[tap[d]], strides[d]));
      inside = where(axes[d].inside[tap[d]], inside, 0);
    }
    // The product of the weights, with the slope in place of the weight of dimension `along`.
    const auto product = [&](size_t along) {
      Tensor w = inside;
      for (size_t d = 0; d < axes.size(); ++d) w = mul(w, (d == along ? axes[d].slope : axes[d].weight)[tap[d]]);
      return w;
    };
    const Tensor all = expand(unsqueeze(index, 1), {samples, channels, places});
    gx = add(gx, scatter_add(zeros_like(image), 2, all, mul(g, unsqueeze(product(axes.size()), 1))));
    const Tensor sums = sum(mul(g, gather(image, 2, all)), {1});
    for (size_t d = 0; d < axes.size(); ++d) slopes[d] = add(slopes[d], mul(sums, product(d)));
  }
  std::reverse(slopes.begin(), slopes.end());
  return {reshape(gx, x.sizes()), reshape(stack(slopes, -1), grid.sizes())};
}

/// The gradients of x and grid; those that are not needed are undefined.
inline Grads grid_sampler_backward(const Backward& b, const GridSampling& how) {
  const Tensor x = b.saved(0), grid = b.saved(1);
  Grads grads(2);
  if (GradMode::is_enabled() && b.grad().numel() > 0 && x.numel() > 0) {
    const auto [gx, ggrid] = grid_sampler_slopes(b.grad(), x, grid, how);
    if (b.needs(0)) grads[0] = to(gx, b.wanted(0));
    if (b.needs(1)) grads[1] = to(ggrid, b.wanted(1));
    return grads;
  }
  const Op<"grid_sampler_backward"> op;
  const std::vector<Tensor> found = op.apply_n(
      [&](const Tensor& gy, const Tensor& image, const Tensor& places) {
        const TensorOptions options = image.options().dtype(checks::sum_dtype(image.dtype()));
        const Tensor gx = b.needs(0) ? zeros(image.sizes(), options) : Tensor();
        const Tensor ggrid = b.needs(1) ? zeros(places.sizes(), options) : Tensor();
        if (gy.numel() > 0) backend(image).grid_sample_backward(gx, ggrid, gy, image, places, how);
        std::vector<Tensor> found;
        if (b.needs(0)) found.push_back(to(gx, b.wanted(0)));
        if (b.needs(1)) found.push_back(to(ggrid, b.wanted(1)));
        return Result(std::move(found));
      },
      b.grad(), x, grid);
  if (b.needs(0)) grads[0] = found.front();
  if (b.needs(1)) grads[1] = found.back();
  return grads;
}

}  // namespace detail

TANDEM_OPS Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                               bool align_corners) {
  const Op<"grid_sampler"> op;
  checks::floating("x", x);
  checks::floating("grid", grid);
  TANDEM_CHECK(x.dim() == 4 || x.dim() == 5, ShapeError, "x is {}, but must be [N, C, H, W] or [N, C, D, H, W]",
               checks::show(x));
  TANDEM_CHECK(grid.dim() == x.dim() && grid.size(-1) == x.dim() - 2 && grid.size(0) == x.size(0), ShapeError,
               "grid is {} and x is {}; grid must be [N, {}, {}] with x's N", checks::show(grid), checks::show(x),
               x.dim() == 4 ? "OH, OW" : "OD, OH, OW", x.dim() - 2);
  Checked places = 1;
  for (int64_t d = 2; d < x.dim(); ++d) {
    TANDEM_CHECK(x.size(d) > 0, ShapeError, "x is {}; the sizes after N and C must be at least 1", checks::show(x));
    TANDEM_CHECK(x.size(d) < int64_t{1} << 30, ShapeError, "x is {}; the sizes after N and C must be below 2^30",
                 checks::show(x));
    places = places * grid.size(d - 1);
  }
  TANDEM_CHECK(places <= std::numeric_limits<int32_t>::max() &&
                   Checked(x.size(0)) * x.size(1) <= std::numeric_limits<int32_t>::max(),
               ShapeError, "x is {} and grid is {}; there may be at most 2^31 - 1 channels, and positions per sample",
               checks::show(x), checks::show(grid));
  TANDEM_CHECK(interpolation_mode >= 0 && interpolation_mode <= 2, StateError,
               "interpolation_mode = {}; it must be 0 (linear), 1 (nearest) or 2 (cubic)", interpolation_mode);
  TANDEM_CHECK(interpolation_mode < 2 || x.dim() == 4, StateError,
               "interpolation_mode = 2 (cubic) needs x [N, C, H, W], but x is {}", checks::show(x));
  TANDEM_CHECK(padding_mode >= 0 && padding_mode <= 2, StateError,
               "padding_mode = {}; it must be 0 (zeros), 1 (border) or 2 (reflection)", padding_mode);
  const GridSampling how{static_cast<GridSampling::Interpolation>(interpolation_mode),
                         static_cast<GridSampling::Beyond>(padding_mode), align_corners};
  return op.apply(
      [&](const Tensor& x, const Tensor& grid) {
        checks::same_dtype("x", x, "grid", grid);
        Dims sizes{x.size(0), x.size(1)};
        for (int64_t d = 1; d + 1 < grid.dim(); ++d) sizes.push_back(grid.size(d));
        const Tensor y = empty(sizes, x.options());
        if (y.numel() > 0) backend(x).grid_sample(y, x, grid, how);
        return Result{y, save(x, grid),
                      [how](const Backward& b) -> Grads { return detail::grid_sampler_backward(b, how); }};
      },
      x, grid);
}

TANDEM_OPS Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  const OpScope op("affine_grid_generator");
  checks::floating("theta", theta);
  TANDEM_CHECK(size.size() == 4 || size.size() == 5, ShapeError,
               "size is {}, but must be [N, C, H, W] or [N, C, D, H, W]", to_string(size));
  const auto n = static_cast<int64_t>(size.size()) - 2;
  TANDEM_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == n && theta.size(2) == n + 1, ShapeError,
               "theta is {}, but must be [{}, {}, {}] for size {}", checks::show(theta), size[0], n, n + 1,
               to_string(size));
  Dims sizes;
  for (size_t k = 2; k < size.size(); ++k) {
    TANDEM_CHECK(size[k] > 0, ShapeError, "size is {}; the sizes after N and C must be at least 1", to_string(size));
    sizes.push_back(size[k]);
  }
  // The coordinates of each element, last dimension first, then 1.
  std::vector<Tensor> coordinates;
  for (size_t k = sizes.size(); k-- > 0;) {
    const int64_t length = sizes[k];
    Tensor range = length <= 1 ? zeros({length}, theta.options()) : linspace(-1, 1, length, theta.options());
    if (!align_corners) range = div(mul(range, length - 1), length);
    Dims along(sizes.size(), 1);
    along[k] = length;
    coordinates.push_back(expand(view(range, along), sizes));
  }
  coordinates.push_back(expand(ones({}, theta.options()), sizes));
  const Tensor base = reshape(stack(coordinates, -1), {1, numel_of(sizes), n + 1});
  const Tensor grid = bmm(expand(base, {theta.size(0), base.size(1), base.size(2)}), transpose(theta, 1, 2));
  Dims result{theta.size(0)};
  for (int64_t s : sizes) result.push_back(s);
  result.push_back(n);
  return reshape(grid, result);
}

}  // namespace tandem
