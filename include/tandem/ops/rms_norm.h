#pragma once
// RMS normalisation. Means are computed and held in f32 (f64 for f64). The weight may have any floating dtype.
#include <array>
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y = x / sqrt(mean(x^2) + eps) weight over the last dimensions, which have the sizes `normalized_shape`; weight
/// (optional) has them, too. eps: by default the distance from 1 to the next f32 (f64 for f64). The result has x's
/// dtype; under autocast it is f32. Errors as in layer_norm. Source: torch.nn.functional.rms_norm.
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});
/// Gradients (gx, gweight) of rms_norm; each is undefined if its `output_mask` is false. rstd: [rows], from the forward
/// pass.
std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& gy, const Tensor& x, IntArrayRef normalized_shape,
                                             const Tensor& rstd, const Tensor& weight, double eps,
                                             std::array<bool, 2> output_mask);

}  // namespace tandem
#pragma GCC visibility pop
