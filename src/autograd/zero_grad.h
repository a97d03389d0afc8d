#pragma once
#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// Drops the gradient of `x`, or fills it with zeros. Does nothing if there is none.
void zero_grad(const Tensor& x, bool set_to_none);

}  // namespace tandem::autograd
