#pragma once
// BackwardScaler: loss scaling inside backward(), in modes in which the program calls no scaler itself.
#include <memory>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// Scales the backward passes of losses. Gradients flow multiplied by a scale, and are divided by it before a leaf's
/// hooks and `.grad` see them: between the two nothing of it shows.
class BackwardScaler {
 public:
  virtual ~BackwardScaler() = default;
  struct Factors {
    Tensor scale, inverse;  ///< f32 of one element on the loss's device; undefined: this pass is not scaled
  };
  /// Called when backward(loss) begins, for a loss of one element without a gradient of its own and without
  /// create_graph.
  virtual Factors begin(const Tensor& loss) = 0;
  /// Called when any backward() has ended well.
  virtual void end() = 0;
};

/// Sets the process's scaler; null: backward() is itself again.
void set_backward_scaler(std::shared_ptr<BackwardScaler> scaler);

namespace detail {
std::shared_ptr<BackwardScaler> backward_scaler();
/// What leaves multiply their gradients by in the calling thread's backward pass; null: nothing.
const Tensor*& leaf_factor();
}  // namespace detail

}  // namespace tandem::autograd
