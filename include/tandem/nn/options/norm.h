#pragma once
// Options of batch and layer normalisation.
#include <optional>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `BatchNorm2dOptions(64).momentum(0.01)`
struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  /// Weight of a new batch in the running statistics; nullopt: they are the average of all batches.
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;
  /// Whether there are a weight and a bias.
  TANDEM_ARG(bool, affine) = true;
  /// Whether there are running statistics. If not, the statistics of the batch are used in eval mode too.
  TANDEM_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

/// `InstanceNorm2dOptions(64).affine(true)`
struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  /// Weight of a new batch in the running statistics.
  TANDEM_ARG(double, momentum) = 0.1;
  /// Whether there are a weight and a bias.
  TANDEM_ARG(bool, affine) = false;
  /// Whether there are running statistics, which are used in eval mode.
  TANDEM_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

/// `GroupNormOptions(2, 6).affine(false)`
struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(int64_t, num_channels);
  TANDEM_ARG(double, eps) = 1e-5;
  /// Whether there are a weight and a bias.
  TANDEM_ARG(bool, affine) = true;
};

/// `RMSNormOptions({256}).eps(1e-6)`
struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  /// By default the distance from 1 to the next f32 (f64 for f64 inputs).
  TANDEM_ARG(std::optional<double>, eps) = std::nullopt;
  /// Whether there is a weight.
  TANDEM_ARG(bool, elementwise_affine) = true;
};

/// `LocalResponseNormOptions(5).k(2)`: the number of channels.
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(double, k) = 1;
};

/// `CrossMapLRN2dOptions(3)`
struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(int64_t, k) = 1;
};

/// `LayerNormOptions({256}).eps(1e-6)`
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(double, eps) = 1e-5;
  /// Whether there are a weight and a bias.
  TANDEM_ARG(bool, elementwise_affine) = true;
};

namespace functional {
/// `BatchNormFuncOptions().weight(w).bias(b).training(true)`
struct BatchNormFuncOptions {
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};

/// `LayerNormFuncOptions({256}).weight(w).bias(b)`
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(double, eps) = 1e-5;
};

/// `InstanceNormFuncOptions().weight(w).bias(b)`
struct InstanceNormFuncOptions {
  TANDEM_ARG(Tensor, running_mean);
  TANDEM_ARG(Tensor, running_var);
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(bool, use_input_stats) = true;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};
/// `GroupNormFuncOptions(2).weight(w).bias(b)`
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(double, eps) = 1e-5;
};
/// `RMSNormFuncOptions({256}).weight(w)`
struct RMSNormFuncOptions {
  RMSNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(std::optional<double>, eps) = std::nullopt;
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
/// `NormalizeFuncOptions().p(1).dim(-1)`
struct NormalizeFuncOptions {
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(int64_t, dim) = 1;
  /// The least norm that is divided by.
  TANDEM_ARG(double, eps) = 1e-12;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
