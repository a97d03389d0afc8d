#include "src/autograd/zero_grad.h"

#include "tandem/autograd/grad_mode.h"

namespace tandem::autograd {

void zero_grad(const Tensor& x, bool set_to_none) {
  if (!x.defined() || !x.grad().defined()) return;
  Tensor& grad = x.mutable_grad();
  // Unscaling widens the gradients of 16-bit parameters, but the next backward pass produces 16-bit gradients.
  if (set_to_none || grad.dtype() != x.dtype()) {
    grad = Tensor();
  } else {
    const NoGradGuard no_grad;
    grad = grad.detach();  // drops the history of a gradient from create_graph
    grad.zero_();
  }
}

}  // namespace tandem::autograd
