#pragma once
// Options of interpolate and Upsample.
#include <optional>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// A ResizeMode, or kLinear, which is a constant of another type.
struct InterpolateMode {
  InterpolateMode(ResizeMode resize_mode) : mode(resize_mode) {}
  InterpolateMode(init::Nonlinearity linear) : mode(ResizeMode::Bilinear), is_linear(true), given(linear) {}
  ResizeMode mode;
  bool is_linear = false;
  init::Nonlinearity given = init::Nonlinearity::Linear;  ///< anything but Linear is refused
};

/// `UpsampleOptions().scale_factor(std::vector<double>({2, 2})).mode(kBilinear)`
struct UpsampleOptions {
  /// Of the result, one entry per dimension after N and C.
  TANDEM_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  /// Result size / input size; instead of `size`.
  TANDEM_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TANDEM_ARG(InterpolateMode, mode) = kNearest;
  /// Whether the first and last elements of input and result coincide; linear and cubic modes only.
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

namespace functional {

/// `InterpolateFuncOptions().size(std::vector<int64_t>({4, 4})).mode(kBilinear)`
struct InterpolateFuncOptions {
  /// As in UpsampleOptions.
  TANDEM_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TANDEM_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TANDEM_ARG(InterpolateMode, mode) = kNearest;
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
  /// Whether positions follow from the sizes instead of scale_factor.
  TANDEM_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  /// Whether elements of a smaller result are means over the image; kBilinear and kBicubic only.
  TANDEM_ARG(bool, antialias) = false;
};

}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
