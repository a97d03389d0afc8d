#include "src/autograd/zero_grad.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

void zero_grad(const Tensor& x, bool set_to_none) {
  if (!x.defined() || !x.grad().defined()) return;
  Tensor& grad = x.mutable_grad();
  // A gradient of another dtype was widened, but need not be again.
  if (set_to_none || (grad.dtype() != grad_dtype(x) && grad.dtype() != x.dtype())) {
    grad = Tensor();
  } else {
    const NoGradGuard no_grad;
    if (grad.requires_grad()) grad = grad.detach();  // drops the history of a gradient from create_graph
    grad.zero_();
    count_as_gradient_write(grad);
    note_gradient_scale(x, LossScale::zero());
  }
}

}  // namespace tandem::autograd
