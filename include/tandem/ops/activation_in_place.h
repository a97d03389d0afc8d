#pragma once
// Activations that overwrite their input with the result and return it. Each is the function of activation.h without
// the underscore, and throws AutogradError for tensors that must not change in place.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Each calls the function without `_` and writes the result to its first argument.
const Tensor& silu_(const Tensor& x);
const Tensor& mish_(const Tensor& x);
const Tensor& selu_(const Tensor& x);
const Tensor& relu6_(const Tensor& x);
const Tensor& hardsigmoid_(const Tensor& x);
const Tensor& hardswish_(const Tensor& x);
const Tensor& elu_(const Tensor& x, Scalar alpha = 1, Scalar scale = 1, Scalar input_scale = 1);
const Tensor& celu_(const Tensor& x, Scalar alpha = 1);
const Tensor& leaky_relu_(const Tensor& x, Scalar negative_slope = 0.01);
const Tensor& rrelu_(const Tensor& x, Scalar lower = 1.0 / 8, Scalar upper = 1.0 / 3, bool training = false);
const Tensor& hardtanh_(const Tensor& x, Scalar min_val = -1, Scalar max_val = 1);
const Tensor& threshold_(const Tensor& x, Scalar threshold, Scalar value);

}  // namespace tandem
#pragma GCC visibility pop
