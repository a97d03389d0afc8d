#pragma once
// Layer and batch normalisation. Statistics are computed and held in f32 (f64 for f64). f16 and
// bf16 inputs may have f32 weights.
#include <array>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y = (x - mean) / sqrt(var + eps) weight + bias over the last dimensions, which have the sizes `normalized_shape`;
/// var is the biased variance. weight and bias (optional) have the sizes `normalized_shape`. The result has x's dtype;
/// under autocast it is f32. Throws ShapeError if the last sizes of x are not `normalized_shape`.
/// Source: torch.nn.functional.layer_norm.
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// Gradients (gx, gweight, gbias) of layer_norm; each is undefined if its `output_mask` is false. mean, rstd: [rows],
/// the statistics of the forward pass. gsum (optional, x's sizes) is added to gx, for add_layer_norm, whose x is a sum
/// that has a gradient of its own. If gradients are recorded, the statistics are recomputed from x with differentiable
/// ops.
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& gy, const Tensor& x, IntArrayRef normalized_shape,
                                                       const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                                       double eps, std::array<bool, 3> output_mask,
                                                       const Tensor& gsum = {});

/// y = (x - mean) / sqrt(var + eps) weight + bias per channel; x: [N, C, ...], the others [C] or undefined.
///
/// In training, mean and var are the mean and the biased variance of the batch, and running_mean and running_var (both
/// or neither) are updated in place to (1 - momentum) running + momentum * batch value, with the unbiased variance.
/// Autocast never replaces them by casts. Outside training, mean and var are running_mean and running_var.
/// The result has x's dtype and memory format. Throws ShapeError for other sizes and, in training, for one value per
/// channel; StateError without running statistics outside training. `cudnn_enabled` has no effect, here and in
/// instance_norm(). Source: torch.nn.functional.batch_norm.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum = 0.1, double eps = 1e-5,
                  bool cudnn_enabled = true);

/// Gradients (gx, gweight, gbias) of batch_norm; each is undefined if its `output_mask` is false. mean, rstd: [C]. If
/// `training`, they are those of the batch, and gx includes the gradient through them.
std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& gy, const Tensor& x, const Tensor& mean,
                                                       const Tensor& rstd, const Tensor& weight, bool training,
                                                       double eps, std::array<bool, 3> output_mask);

}  // namespace tandem
#pragma GCC visibility pop
