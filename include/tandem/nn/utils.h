#pragma once
// nn::utils: what works on a model's parameters together.
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::nn::utils {

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), where `norm` is the norm_type-norm (1, 2, inf, ...) of all
/// gradients as one vector, in f32 (f64 for f64). Returns the norm, a tensor of rank 0 on the device: nothing waits for
/// it unless `error_if_nonfinite`, which throws StateError when it is inf or NaN. Parameters without gradients do not
/// count. Under a GradScaler, unscale_ first: gradients that are
/// still scaled are clipped as they are, with a warning, once. Throws StateError for a negative max_norm or a norm_type
/// that is not positive. Source: torch.nn.utils.clip_grad_norm_.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
Tensor clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);

/// Clamps all gradients to [-clip_value, clip_value]. Throws StateError unless clip_value is at least 0.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(const Tensor& parameter, double clip_value);

/// All parameters one after another as one vector. Throws StateError for an empty list.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// Writes a vector back into the parameters, which keep their memory. Throws ShapeError when the counts differ.
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
