#pragma once
// What tensors lose when they are rounded to float8, and the scales of a model, for logs.
#include <cstdint>
#include <vector>

#include "tandem/amp/fp8/fp8_tensor.h"
#include "tandem/amp/tools/train_log.h"
#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Counts of elements.
struct Fp8Losses {
  int64_t elements = 0;
  int64_t saturated = 0;  ///< finite numbers that were too large: more than half a step beyond the largest value
  int64_t flushed = 0;    ///< numbers other than 0 that became 0

  /// In percent of the elements; 0 without elements.
  double saturated_percent() const;
  double flushed_percent() const;
};

/// Counts what `x` lost by rounding. Waits for the device. Throws ShapeError for tensors of different sizes.
Fp8Losses fp8_losses(const Tensor& x, const Fp8Tensor& rounded);

/// The scales of delayed scaling of all parameters that have them, for TrainStep::values, and the largest magnitudes of
/// the iteration that they were last computed from: "fc1.weight.input_scale", "fc1.weight.input_amax", and so on for
/// weight and gradient. Does not wait for the device. A history of length 1 gives no amax.
std::vector<LogValue> fp8_log_values(const nn::Module& model);

namespace detail {
/// The counts of saturated and flushed elements on the device, i64 [2].
Tensor count_losses(const Tensor& x, const Tensor& codes, const Float8Scales& scales);
}  // namespace detail

}  // namespace tandem::amp
#pragma GCC visibility pop
