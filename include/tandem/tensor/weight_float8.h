#pragma once
// WeightFloat8: what training in float8 (amp/fp8) keeps with a weight, to be saved and copied with it.
#include <memory>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

struct WeightFloat8 {
  bool excluded = false;  ///< products with this weight are never computed in float8
  /// The state of delayed scaling (DelayedScalesCall), with rows for the input, the weight and the gradient of the
  /// output. Undefined until it is needed.
  Tensor delayed;
  bool gradient_noted = false;  ///< the gradient's row has an amax from which the scale was not computed yet
  bool restored = false;        ///< so it was in the state that was loaded; the next region computes the scale
};

/// The number of rows of WeightFloat8::delayed.
inline constexpr int64_t kDelayedRows = 3;

/// Returns what is kept with a weight, and adds it to the weight if there is nothing yet. Safe to call concurrently.
const std::shared_ptr<WeightFloat8>& weight_float8(const Tensor& weight);
/// Whether products with this weight are never computed in float8.
inline bool is_excluded_from_float8(const Tensor& weight) {
  const TensorImpl& impl = weight.impl();
  return impl.float8 && impl.float8->excluded;
}

}  // namespace tandem
#pragma GCC visibility pop
