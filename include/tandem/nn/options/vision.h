#pragma once
// Options of grid_sample.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"

#pragma GCC visibility push(default)
namespace tandem::nn::functional {

/// `GridSampleFuncOptions().mode(kNearest).padding_mode(kBorder)`
struct GridSampleFuncOptions {
  /// kBilinear (also for volumes), kNearest or kBicubic.
  TANDEM_ARG(ResizeMode, mode) = kBilinear;
  /// kZeros, kBorder or kReflection.
  TANDEM_ARG(GridPadding, padding_mode) = kZeros;
  /// Whether -1 and 1 are the centres of the first and last elements; by default not.
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

}  // namespace tandem::nn::functional
#pragma GCC visibility pop
