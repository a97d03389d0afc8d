#include "src/autograd/zero_grad.h"

#include "tandem/autograd/grad_mode.h"

namespace tandem::autograd {

void zero_grad(const Tensor& x, bool set_to_none) {
  if (!x.defined() || !x.grad().defined()) return;
  Tensor& grad = x.mutable_grad();
  if (set_to_none) {
    grad = Tensor();
  } else {
    const NoGradGuard no_grad;
    grad = grad.detach();  // a gradient with a graph (create_graph) must not keep it
    grad.zero_();
  }
}

}  // namespace tandem::autograd
