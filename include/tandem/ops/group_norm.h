#pragma once
// Group, instance and local response normalisation. Statistics are computed and held in f32 (f64 for f64). f16 and
// bf16 inputs may have f32 weights.
#include <array>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y = (x - mean) / sqrt(var + eps) weight + bias; x: [N, C, ...]. mean and the biased variance are those of each
/// sample's groups of C / num_groups adjacent channels. weight, bias: [C] or undefined. The result has x's dtype; under
/// autocast it is f32. Throws ShapeError if num_groups does not divide C. Source: torch.nn.functional.group_norm.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// Gradients (gx, gweight, gbias) of group_norm; each is undefined if its `output_mask` is false. mean, rstd:
/// [N * num_groups], from the forward pass.
std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& gy, const Tensor& x, int64_t num_groups,
                                                       const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                                       double eps, std::array<bool, 3> output_mask);

/// batch_norm of each sample by itself: the statistics are those of each channel of each sample. With running
/// statistics and use_input_stats, those are updated with the mean over the samples; without use_input_stats they are
/// used. Source: torch.nn.functional.instance_norm.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     const Tensor& running_mean = {}, const Tensor& running_var = {}, bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5, bool cudnn_enabled = true);

/// x / (k + alpha mean(x^2))^beta; the mean is over `size` adjacent channels around each channel, with zeros beyond the
/// first and the last. x: [N, C, ...], of rank 3 or more. Source: torch.nn.functional.local_response_norm.
Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);

}  // namespace tandem
#pragma GCC visibility pop
