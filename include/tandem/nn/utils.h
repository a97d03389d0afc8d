#pragma once
// nn::utils: functions of all parameters of a model.
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn::utils {

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), where `norm` is the norm_type-norm (1, 2, inf, ...) of all
/// gradients as one vector, in f32 (f64 for f64). Returns the norm, a tensor of rank 0 on the device. The host waits
/// for it only if `error_if_nonfinite`, which throws StateError if it is inf or NaN. Parameters without gradients are
/// ignored. Under a GradScaler, call unscale_ first: gradients that are still scaled are clipped without unscaling,
/// with one warning. Throws StateError for a negative max_norm or a norm_type that is not positive. Source:
/// torch.nn.utils.clip_grad_norm_.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
Tensor clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);

/// Clamps all gradients to [-clip_value, clip_value]. Throws StateError unless clip_value is at least 0.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(const Tensor& parameter, double clip_value);

/// Concatenates all parameters to one vector. Throws StateError for an empty list.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// Copies a vector to the parameters, which keep their memory. Throws ShapeError if the numbers of elements differ.
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
#pragma GCC visibility pop
