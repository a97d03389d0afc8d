#pragma once
#include <cmath>
#include <vector>

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/interpolate.h"
#include "tandem/ops/resample-inl.h"

namespace tandem {

namespace detail {

/// The axes of an image [N, C, ...] that is resized to output_size.
inline std::vector<Axis> resize_axes(const Tensor& x, IntArrayRef output_size, math::Resampling::Kind kind,
                                     bool align_corners, const std::vector<std::optional<double>>& scales) {
  checks::floating("x", x);
  const size_t n = scales.size();
  TANDEM_CHECK(x.dim() == static_cast<int64_t>(n) + 2, ShapeError, "x is {}, but must be [N, C, {}]", checks::show(x),
               n == 1   ? "L"
               : n == 2 ? "H, W"
                        : "D, H, W");
  TANDEM_CHECK(output_size.size() == n, ShapeError, "output_size is {}, but must have {} entries for x {}",
               to_string(output_size), n, checks::show(x));
  std::vector<Axis> axes;
  // The last dimension first: its terms are adjacent in memory.
  for (size_t k = n; k-- > 0;) {
    const auto dim = static_cast<int64_t>(k) + 2;
    TANDEM_CHECK(x.size(dim) > 0 && output_size[k] > 0, ShapeError,
                 "x is {} and output_size is {}; the sizes must be at least 1", checks::show(x),
                 to_string(output_size));
    TANDEM_CHECK(!scales[k] || (*scales[k] > 0 && std::isfinite(*scales[k])), StateError,
                 "a scale is {}, but must be positive", *scales[k]);
    // The kernels compute positions up to (out + 2.5) / scale and round them to integers.
    TANDEM_CHECK(!scales[k] || (static_cast<double>(output_size[k]) + 3) / *scales[k] < 0x1p62, StateError,
                 "a scale is {}, which is too small for an output of {}; give a scale near {} / {}", *scales[k],
                 output_size[k], output_size[k], x.size(dim));
    Axis axis{dim, {}};
    axis.map.kind = kind;
    axis.map.in = x.size(dim);
    axis.map.out = output_size[k];
    axis.map.scale = scales[k].value_or(0);
    axis.map.align_corners = align_corners;
    // As in PyTorch, these two copy a dimension of unchanged size, and nearest doubles one of twice the size, whatever
    // the scale.
    const bool nearest = kind == math::Resampling::Kind::nearest;
    const bool copies = (nearest || kind == math::Resampling::Kind::linear) && axis.map.in == axis.map.out;
    if (copies || (nearest && axis.map.out == 2 * axis.map.in)) axis.map.scale = 0;
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace detail

TANDEM_OPS Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales) {
  const Op<"upsample_nearest1d"> op;
  const auto kind = math::Resampling::Kind::nearest;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales}));
}

TANDEM_OPS Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h,
                                     std::optional<double> scales_w) {
  const Op<"upsample_nearest2d"> op;
  const auto kind = math::Resampling::Kind::nearest;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales_h, scales_w}));
}

TANDEM_OPS Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d,
                                     std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"upsample_nearest3d"> op;
  const auto kind = math::Resampling::Kind::nearest;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales_d, scales_h, scales_w}));
}

TANDEM_OPS Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales) {
  const Op<"_upsample_nearest_exact1d"> op;
  const auto kind = math::Resampling::Kind::nearest_exact;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales}));
}

TANDEM_OPS Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h,
                                            std::optional<double> scales_w) {
  const Op<"_upsample_nearest_exact2d"> op;
  const auto kind = math::Resampling::Kind::nearest_exact;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales_h, scales_w}));
}

TANDEM_OPS Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d,
                                            std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"_upsample_nearest_exact3d"> op;
  const auto kind = math::Resampling::Kind::nearest_exact;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, false, {scales_d, scales_h, scales_w}));
}

TANDEM_OPS Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                    std::optional<double> scales) {
  const Op<"upsample_linear1d"> op;
  const auto kind = math::Resampling::Kind::linear;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, align_corners, {scales}));
}

TANDEM_OPS Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                      std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"upsample_bilinear2d"> op;
  const auto kind = math::Resampling::Kind::linear;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, align_corners, {scales_h, scales_w}));
}

TANDEM_OPS Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                       std::optional<double> scales_d, std::optional<double> scales_h,
                                       std::optional<double> scales_w) {
  const Op<"upsample_trilinear3d"> op;
  const auto kind = math::Resampling::Kind::linear;
  return detail::resample_op(op, x,
                             detail::resize_axes(x, output_size, kind, align_corners, {scales_d, scales_h, scales_w}));
}

TANDEM_OPS Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                     std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"upsample_bicubic2d"> op;
  const auto kind = math::Resampling::Kind::cubic;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, align_corners, {scales_h, scales_w}));
}

TANDEM_OPS Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                          std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"_upsample_bilinear2d_aa"> op;
  const auto kind = math::Resampling::Kind::smooth_linear;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, align_corners, {scales_h, scales_w}));
}

TANDEM_OPS Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                                         std::optional<double> scales_h, std::optional<double> scales_w) {
  const Op<"_upsample_bicubic2d_aa"> op;
  const auto kind = math::Resampling::Kind::smooth_cubic;
  return detail::resample_op(op, x, detail::resize_axes(x, output_size, kind, align_corners, {scales_h, scales_w}));
}

}  // namespace tandem
