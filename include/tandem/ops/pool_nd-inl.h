#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/pool.h"
#include "tandem/ops/pool_forms-inl.h"
#include "tandem/ops/pool_nd.h"
#include "tandem/ops/resample-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm_forms-inl.h"

namespace tandem {

namespace detail {

/// The windows along the last n dimensions, of which the last comes first.
inline std::vector<Axis> window_axes(const Tensor& x, size_t n, IntArrayRef kernel_size, IntArrayRef stride,
                                     IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  check_pooled(x, n);
  const auto kernel = checks::entries("kernel_size", kernel_size, n, 1);
  const auto step = stride.empty() ? kernel : checks::entries("stride", stride, n, 1);
  const auto pad = checks::entries("padding", padding, n, 0), spread = checks::entries("dilation", dilation, n, 1);
  std::vector<Axis> axes;
  for (size_t k = n; k-- > 0;) {
    TANDEM_CHECK(pad[k] <= kernel[k] / 2, StateError,
                 "padding = {}, but must be at most half of kernel_size = {}, so that each window meets x",
                 to_string(padding), to_string(kernel_size));
    Axis axis{x.dim() - static_cast<int64_t>(n - k), {}};
    math::Resampling& map = axis.map;
    map.kind = math::Resampling::Kind::windows;
    map.in = x.size(axis.dim);
    map.kernel = kernel[k];
    map.stride = step[k];
    map.padding = pad[k];
    map.dilation = spread[k];
    // Source: PyTorch's pooling_output_shape.
    const Checked reach = Checked(spread[k]) * (kernel[k] - 1) + 1, end = Checked(map.in) + pad[k];
    const Checked padded = end + pad[k], room = padded - reach;
    TANDEM_CHECK(room >= (ceil_mode ? 1 - step[k] : 0), ShapeError,
                 "no window fits: it spans {} elements, but dimension {} of x {} with padding {} has {}; use a smaller "
                 "kernel_size {} or dilation {}",
                 to_string(reach), axis.dim, checks::show(x), pad[k], to_string(padded), kernel[k], spread[k]);
    const int64_t free = *room.value();
    int64_t last = free < 0 ? 0 : free / step[k] + (ceil_mode && free % step[k] != 0 ? 1 : 0);
    // The last window must begin in x or in the padding before it.
    if (ceil_mode && !(Checked(last) * step[k] <= end - 1)) --last;
    map.out = last + 1;
    axes.push_back(axis);
  }
  return axes;
}

/// The windows that divide the last n dimensions into output_size parts, the last dimension first.
inline std::vector<Axis> adaptive_axes(const Tensor& x, size_t n, IntArrayRef output_size) {
  check_pooled(x, n);
  const auto sizes = checks::entries("output_size", output_size, n, 1);
  std::vector<Axis> axes;
  for (size_t k = n; k-- > 0;) {
    Axis axis{x.dim() - static_cast<int64_t>(n - k), {}};
    axis.map.kind = math::Resampling::Kind::adaptive;
    axis.map.in = x.size(axis.dim);
    axis.map.out = sizes[k];
    TANDEM_CHECK((Checked(sizes[k]) + 1) * axis.map.in >= 0, ShapeError, "output_size = {} is too large for x {}",
                 to_string(output_size), checks::show(x));
    axes.push_back(axis);
  }
  return axes;
}

/// The i64 index along the axis of the largest element of each window.
inline Tensor largest_of_windows(const Tensor& x, const Axis& axis) {
  return Op<"window_argmax">().apply(
      [&](const Tensor& x) {
        const Tensor in = checks::dense(x);
        Dims sizes = x.impl().sizes;
        sizes[static_cast<size_t>(axis.dim)] = axis.map.out;
        const Tensor index = empty(sizes, x.options().dtype(kLong).memory_format(checks::layout(in)));
        if (index.numel() > 0) backend(x).window_argmax(index, in, axis.dim, axis.map);
        return Result{index};
      },
      x);
}

/// The largest elements of windows and, with `indices`, where they are. The first of equal maxima is found, since it is
/// the first in its row, and its row is the first that has it.
inline std::tuple<Tensor, Tensor> max_of_windows(const Tensor& x, const std::vector<Axis>& axes, bool indices) {
  Tensor y = x, place;
  int64_t inner = 1;
  for (const Axis& axis : axes) {
    const Tensor index = largest_of_windows(y, axis);
    // Only with a dilation larger than x can a window have no element of x.
    const bool may_miss = axis.map.kind == math::Resampling::Kind::windows && axis.map.dilation > axis.map.in;
    const Tensor found = may_miss ? clamp(index, 0, axis.map.in - 1) : index;
    y = gather(y, axis.dim, found);
    if (may_miss) y = where(eq(index, found), y, -INFINITY);
    if (!indices) continue;
    place = place.defined() ? add(gather(place, axis.dim, found), mul(index, inner)) : index;
    inner *= axis.map.in;
  }
  return {y, place};
}

/// max_pool of n dimensions as a composed op with a policy of its own.
template <FixedString Name>
std::tuple<Tensor, Tensor> max_pool_op(const Op<Name>& op, const Tensor& x, const std::vector<Axis>& axes,
                                       bool indices) {
  return max_of_windows(cast_inputs(op, {x})[0], axes, indices);
}

/// (p-th power mean of the windows times their size)^(1/p).
template <class Pool>
Tensor lp_pool(const Tensor& x, double p, size_t n, IntArrayRef kernel_size, Pool pool) {
  check_pooled(x, n);
  TANDEM_CHECK(p != 0, StateError, "norm_type = 0, which has no root");
  double cells = 1;
  for (int64_t k : checks::entries("kernel_size", kernel_size, n, 1)) cells *= static_cast<double>(k);
  const Tensor wide = to(x, checks::sum_dtype(x.dtype()));
  const double most = std::exp2(100 / std::abs(p));  // of a number whose power is in the range of f32
  const Tensor unit = range_unit(wide, {}, 1 / most, most);
  const Tensor means = pool(pow(in_units(wide, unit), p));
  return to(mul(pow(mul(mul(sign(means), relu(abs(means))), cells), 1 / p), unit), x.dtype());
}

}  // namespace detail

TANDEM_OPS Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             IntArrayRef dilation, bool ceil_mode) {
  const OpScope op("max_pool1d");
  const math::Resampling map = detail::window_axes(x, 1, kernel_size, stride, padding, dilation, ceil_mode)[0].map;
  return squeeze(
      max_pool2d(unsqueeze(x, -2), {1, map.kernel}, {1, map.stride}, {0, map.padding}, {1, map.dilation}, ceil_mode),
      -2);
}

TANDEM_OPS Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             IntArrayRef dilation, bool ceil_mode) {
  const Op<"max_pool3d"> op;
  const auto axes = detail::window_axes(x, 3, kernel_size, stride, padding, dilation, ceil_mode);
  return std::get<0>(detail::max_pool_op(op, x, axes, false));
}

TANDEM_OPS std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                              IntArrayRef stride, IntArrayRef padding,
                                                              IntArrayRef dilation, bool ceil_mode) {
  const OpScope op("max_pool1d_with_indices");
  return detail::max_of_windows(x, detail::window_axes(x, 1, kernel_size, stride, padding, dilation, ceil_mode), true);
}

TANDEM_OPS std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                              IntArrayRef stride, IntArrayRef padding,
                                                              IntArrayRef dilation, bool ceil_mode) {
  const OpScope op("max_pool2d_with_indices");
  return detail::max_of_windows(x, detail::window_axes(x, 2, kernel_size, stride, padding, dilation, ceil_mode), true);
}

TANDEM_OPS std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                              IntArrayRef stride, IntArrayRef padding,
                                                              IntArrayRef dilation, bool ceil_mode) {
  const OpScope op("max_pool3d_with_indices");
  return detail::max_of_windows(x, detail::window_axes(x, 3, kernel_size, stride, padding, dilation, ceil_mode), true);
}

TANDEM_OPS Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             bool ceil_mode, bool count_include_pad) {
  const OpScope op("avg_pool1d");
  const math::Resampling map = detail::window_axes(x, 1, kernel_size, stride, padding, {1}, ceil_mode)[0].map;
  return squeeze(
      avg_pool2d(unsqueeze(x, -2), {1, map.kernel}, {1, map.stride}, {0, map.padding}, ceil_mode, count_include_pad),
      -2);
}

TANDEM_OPS Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  const Op<"avg_pool3d"> op;
  std::vector<detail::Axis> axes = detail::window_axes(x, 3, kernel_size, stride, padding, {1}, ceil_mode);
  for (const detail::Axis& axis : axes) {
    TANDEM_CHECK(axis.map.kernel <= axis.map.in, ShapeError,
                 "kernel_size = {}, but dimension {} of x {} is smaller; use a smaller kernel, or pad x",
                 to_string(kernel_size), axis.dim, checks::show(x));
  }
  TANDEM_CHECK(!divisor_override || *divisor_override != 0, StateError,
               "divisor_override = 0 divides by zero; omit it to divide by the window's size");
  for (detail::Axis& axis : axes) {
    axis.map.count_include_pad = count_include_pad;
    if (divisor_override) axis.map.divisor = &axis == &axes.back() ? *divisor_override : 1;
  }
  return detail::resample_op(op, x, axes);
}

TANDEM_OPS Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size) {
  const OpScope op("adaptive_avg_pool1d");
  const math::Resampling map = detail::adaptive_axes(x, 1, output_size)[0].map;
  return squeeze(adaptive_avg_pool2d(unsqueeze(x, -2), {1, map.out}), -2);
}

TANDEM_OPS Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size) {
  const Op<"adaptive_avg_pool3d"> op;
  return detail::resample_op(op, x, detail::adaptive_axes(x, 3, output_size));
}

TANDEM_OPS std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size) {
  const OpScope op("adaptive_max_pool1d");
  return detail::max_of_windows(x, detail::adaptive_axes(x, 1, output_size), true);
}

TANDEM_OPS std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size) {
  const OpScope op("adaptive_max_pool2d");
  return detail::max_of_windows(x, detail::adaptive_axes(x, 2, output_size), true);
}

TANDEM_OPS std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size) {
  const Op<"adaptive_max_pool3d"> op;
  return detail::max_pool_op(op, x, detail::adaptive_axes(x, 3, output_size), true);
}

TANDEM_OPS Tensor lp_pool1d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                            bool ceil_mode) {
  const OpScope op("lp_pool1d");
  return detail::lp_pool(x, norm_type, 1, kernel_size,
                         [&](const Tensor& x) { return avg_pool1d(x, kernel_size, stride, {0}, ceil_mode); });
}

TANDEM_OPS Tensor lp_pool2d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                            bool ceil_mode) {
  const OpScope op("lp_pool2d");
  return detail::lp_pool(x, norm_type, 2, kernel_size,
                         [&](const Tensor& x) { return avg_pool2d(x, kernel_size, stride, {0}, ceil_mode); });
}

TANDEM_OPS Tensor lp_pool3d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,
                            bool ceil_mode) {
  const OpScope op("lp_pool3d");
  return detail::lp_pool(x, norm_type, 3, kernel_size,
                         [&](const Tensor& x) { return avg_pool3d(x, kernel_size, stride, {0}, ceil_mode); });
}

}  // namespace tandem
