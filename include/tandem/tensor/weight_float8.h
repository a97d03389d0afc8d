#pragma once
// WeightFloat8: what training in float8 (amp/fp8) keeps with a weight, to be saved and copied with it.
#include <atomic>
#include <cstdint>
#include <memory>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The state of training in float8 that is kept with a weight.
struct WeightFloat8 {
  std::atomic<bool> excluded{false};  ///< products with this weight are never computed in float8
  /// The state of delayed scaling (DelayedScalesCall), with rows for the input, the weight and the gradient of the
  /// output. Undefined until it is needed.
  Tensor delayed;
  /// The number of the iteration to which the current amax of the gradient's row belongs, if the scale was not computed
  /// from it yet; else 0.
  std::atomic<uint64_t> gradient_noted{0};
  static constexpr uint64_t kEarlierRun = UINT64_MAX;  ///< gradient_noted of a loaded state
};

/// The number of rows of WeightFloat8::delayed.
inline constexpr int64_t kDelayedRows = 3;

/// Returns what is kept with a weight, and adds it to the weight if there is nothing yet. Safe to call concurrently.
std::shared_ptr<WeightFloat8> weight_float8(const Tensor& weight);
/// The same, or null if there is nothing.
std::shared_ptr<WeightFloat8> find_weight_float8(const Tensor& weight);

}  // namespace tandem
#pragma GCC visibility pop
