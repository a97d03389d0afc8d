#pragma once
// Activations, and dropout, that overwrite their input with the result and return it. Each is the function without the
// underscore of activation.h and dropout.h, and throws AutogradError for tensors that must not change in place.
#include <string>

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
const Tensor& gelu_(const Tensor& x, const std::string& approximate = "none");
const Tensor& dropout_(const Tensor& x, double p, bool training);
const Tensor& alpha_dropout_(const Tensor& x, double p, bool training);
const Tensor& feature_dropout_(const Tensor& x, double p, bool training);
const Tensor& feature_alpha_dropout_(const Tensor& x, double p, bool training);

}  // namespace tandem
#pragma GCC visibility pop
