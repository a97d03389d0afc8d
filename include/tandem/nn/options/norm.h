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
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
