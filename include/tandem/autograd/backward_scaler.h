#pragma once
// BackwardScaler: loss scaling inside backward(), in modes in which the program calls no scaler itself.
#include <memory>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// Scales the backward passes of losses. Gradients flow multiplied by a scale; hooks and `.grad`, of leaves and of
/// results, have them divided by it. What a hook of a result returns is multiplied by it again; gradients that its
/// hooks leave alone flow on as they were. Only backward functions and observers see the scale.
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
/// Those of the calling thread's backward pass; null where it is not scaled.
const BackwardScaler::Factors*& pass_factors();
/// `gradient` multiplied by one of them.
Tensor times(const Tensor& gradient, const Tensor& factor);
/// Takes the scale of the calling thread's backward pass out of a defined gradient.
inline void unscale(Tensor& gradient) {
  if (const BackwardScaler::Factors* factors = pass_factors()) [[unlikely]]
    gradient = times(gradient, factors->inverse);
}
}  // namespace detail

}  // namespace tandem::autograd
