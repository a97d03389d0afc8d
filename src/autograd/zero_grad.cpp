#include "src/autograd/zero_grad.h"

#include "tandem/autograd/grad_mode.h"

namespace tandem::autograd {

void zero_grad(const Tensor& x, bool set_to_none) {
  if (!x.defined() || !x.grad().defined()) return;
  Tensor& grad = x.mutable_grad();
  // Unscaling widens the gradients of 16-bit parameters; the next backward pass brings 16 bits again.
  if (set_to_none || grad.dtype() != x.dtype()) {
    grad = Tensor();
  } else {
    const NoGradGuard no_grad;
    grad = grad.detach();  // a gradient with a graph (create_graph) must not keep it
    grad.zero_();
  }
}

}  // namespace tandem::autograd
