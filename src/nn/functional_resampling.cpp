// nn::functional: interpolate, and pooling of one and three dimensions.
#include <cmath>
#include <limits>

#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

/// The result's sizes after N and C.
std::vector<int64_t> sizes_of_result(const Tensor& input, const InterpolateFuncOptions& o) {
  TANDEM_CHECK(o.size().has_value() != o.scale_factor().has_value(), StateError,
               "{} of size and scale_factor are given; give one of them", o.size() ? "both" : "none");
  const auto n = static_cast<size_t>(input.dim() - 2);
  TANDEM_CHECK((o.size() ? o.size()->size() : o.scale_factor()->size()) == n, ShapeError,
               "{} has {} entries, but input {} has {} dimensions after N and C", o.size() ? "size" : "scale_factor",
               o.size() ? o.size()->size() : o.scale_factor()->size(), checks::show(input), n);
  if (o.size()) return *o.size();
  std::vector<int64_t> sizes;
  for (size_t k = 0; k < n; ++k) {
    const double scale = (*o.scale_factor())[k];
    const double size = std::floor(static_cast<double>(input.size(static_cast<int64_t>(k) + 2)) * scale);
    TANDEM_CHECK(size >= 1 && size < 0x1p62, ShapeError,
                 "scale_factor = {} of input {} gives {} elements; there must be at least 1", scale,
                 checks::show(input), size);
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}

[[noreturn]] void refuse_mode(const Tensor& input) {
  TANDEM_THROW(
      StateError,
      "the mode does not fit input {}; use kNearest, kNearestExact, kArea, or kLinear for [N, C, L], kBilinear "
      "or kBicubic for [N, C, H, W], kTrilinear for [N, C, D, H, W]",
      checks::show(input));
}

/// The given output size, with the input's where there is none.
template <size_t D>
ExpandingArray<D> given_or_own(const Tensor& input, const ExpandingArrayWithOptionalElem<D>& wanted) {
  checks::defined("x", input);
  TANDEM_CHECK(input.dim() > static_cast<int64_t>(D), ShapeError, "x is {}, but must have {} dimensions or more",
               checks::show(input), D + 1);
  ExpandingArray<D> sizes(0);
  for (size_t d = 0; d < D; ++d) {
    (*sizes)[d] = (*wanted)[d] ? *(*wanted)[d] : input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
  }
  return sizes;
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& o) {
  const OpScope op("interpolate");
  checks::floating("input", input);
  TANDEM_CHECK(input.dim() >= 3 && input.dim() <= 5, ShapeError,
               "input is {}, but must be [N, C, L], [N, C, H, W] or [N, C, D, H, W]", checks::show(input));
  const ResizeMode mode = o.mode().mode;
  const bool area = mode == ResizeMode::Area;
  const bool nearest = mode == ResizeMode::Nearest, exact = mode == ResizeMode::NearestExact;
  TANDEM_CHECK(!o.align_corners() || !(area || nearest || exact), StateError,
               "align_corners is given, but applies only to kLinear, kBilinear, kBicubic and kTrilinear; omit it");
  TANDEM_CHECK(!o.antialias() || (input.dim() == 4 && !o.mode().is_linear &&
                                  (mode == ResizeMode::Bilinear || mode == ResizeMode::Bicubic)),
               StateError, "antialias is set, but applies only to kBilinear and kBicubic of [N, C, H, W]; omit it");
  if (o.mode().is_linear && o.mode().given != init::Nonlinearity::Linear) refuse_mode(input);
  const std::vector<int64_t> size = sizes_of_result(input, o);
  const bool align = o.align_corners().value_or(false);
  std::optional<double> scale[3];
  if (o.scale_factor() && !o.recompute_scale_factor().value_or(false)) {
    for (size_t k = 0; k < size.size(); ++k) scale[k] = (*o.scale_factor())[k];
  }
  if (input.dim() == 3) {
    if (nearest) return upsample_nearest1d(input, size, scale[0]);
    if (exact) return _upsample_nearest_exact1d(input, size, scale[0]);
    if (area) return tandem::adaptive_avg_pool1d(input, size);
    if (o.mode().is_linear) return upsample_linear1d(input, size, align, scale[0]);
  } else if (input.dim() == 4) {
    if (nearest) return upsample_nearest2d(input, size, scale[0], scale[1]);
    if (exact) return _upsample_nearest_exact2d(input, size, scale[0], scale[1]);
    if (area) return tandem::adaptive_avg_pool2d(input, size);
    if (mode == ResizeMode::Bicubic) {
      return (o.antialias() ? _upsample_bicubic2d_aa : upsample_bicubic2d)(input, size, align, scale[0], scale[1]);
    }
    if (mode == ResizeMode::Bilinear && !o.mode().is_linear) {
      return (o.antialias() ? _upsample_bilinear2d_aa : upsample_bilinear2d)(input, size, align, scale[0], scale[1]);
    }
  } else {
    if (nearest) return upsample_nearest3d(input, size, scale[0], scale[1], scale[2]);
    if (exact) return _upsample_nearest_exact3d(input, size, scale[0], scale[1], scale[2]);
    if (area) return tandem::adaptive_avg_pool3d(input, size);
    if (mode == ResizeMode::Trilinear) return upsample_trilinear3d(input, size, align, scale[0], scale[1], scale[2]);
  }
  refuse_mode(input);
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return tandem::max_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return tandem::max_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return tandem::max_pool1d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return tandem::max_pool2d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return tandem::max_pool3d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return tandem::avg_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad());
}

Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return tandem::avg_pool3d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(),
                            o.divisor_override());
}

Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& o) {
  return tandem::adaptive_avg_pool1d(input, o.output_size());
}

Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& o) {
  const OpScope op("adaptive_avg_pool3d");
  return tandem::adaptive_avg_pool3d(input, given_or_own(input, o.output_size()));
}

Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& o) {
  return std::get<0>(tandem::adaptive_max_pool1d(input, o.output_size()));
}

Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& o) {
  const OpScope op("adaptive_max_pool2d");
  return std::get<0>(tandem::adaptive_max_pool2d(input, given_or_own(input, o.output_size())));
}

Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& o) {
  const OpScope op("adaptive_max_pool3d");
  return std::get<0>(tandem::adaptive_max_pool3d(input, given_or_own(input, o.output_size())));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& o) {
  return tandem::adaptive_max_pool1d(input, o.output_size());
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& o) {
  const OpScope op("adaptive_max_pool2d");
  return tandem::adaptive_max_pool2d(input, given_or_own(input, o.output_size()));
}

std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& o) {
  const OpScope op("adaptive_max_pool3d");
  return tandem::adaptive_max_pool3d(input, given_or_own(input, o.output_size()));
}

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& o) {
  return tandem::lp_pool1d(input, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}

Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& o) {
  return tandem::lp_pool2d(input, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}

Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& o) {
  return tandem::lp_pool3d(input, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}

}  // namespace tandem::nn::functional
