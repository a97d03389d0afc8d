#pragma once
// BackwardScaler: loss scaling inside backward(), for modes in which the program does not call a scaler.
#include <memory>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// Scales the backward passes of losses. Gradients are multiplied by a scale while they flow through the graph. Hooks
/// and `.grad`, of leaves and of non-leaf tensors, get them divided by the scale. A gradient that a hook of a non-leaf
/// tensor returns is multiplied by the scale again; gradients that hooks do not change flow on unmodified. Only
/// backward functions and observers see scaled gradients.
class BackwardScaler {
 public:
  virtual ~BackwardScaler() = default;
  /// The scale of one backward pass, and its inverse.
  struct Factors {
    Tensor scale, inverse;  ///< f32 of one element on the loss's device; undefined: this pass is not scaled
  };
  /// Called at the start of backward(loss), for a loss of one element, without a `gradient` argument and without
  /// create_graph.
  virtual Factors begin(const Tensor& loss) = 0;
  /// Called after every backward() that has succeeded.
  virtual void end() = 0;
};

/// Sets the process's scaler; null switches scaling off.
void set_backward_scaler(std::shared_ptr<BackwardScaler> scaler);

namespace detail {
std::shared_ptr<BackwardScaler> backward_scaler();
/// The factors of the calling thread's backward pass; null if it is not scaled.
const BackwardScaler::Factors*& pass_factors();
/// product = gradient times `factor`, an f32 tensor of one element. Not recorded; `product` may be `gradient`.
void multiply(const Tensor& product, const Tensor& gradient, const Tensor& factor);
/// Returns `gradient` times `factor`. Recorded if recording is on.
Tensor times(const Tensor& gradient, const Tensor& factor);
/// Divides a defined gradient by the scale of the calling thread's backward pass, if that is scaled.
inline void unscale(Tensor& gradient) {
  if (const BackwardScaler::Factors* factors = pass_factors()) [[unlikely]]
    gradient = times(gradient, factors->inverse);
}
}  // namespace detail

}  // namespace tandem::autograd
#pragma GCC visibility pop
