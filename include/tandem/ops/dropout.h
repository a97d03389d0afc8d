#pragma once
// Dropout, its derivative and its variants.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// In training, each element becomes 0 with probability `p`, else x / (1 - p). Returns x itself if not `training` or
/// p = 0. Draws from default_generator(); the mask is the same on every device. Throws StateError for p outside [0, 1].
Tensor dropout(const Tensor& x, double p, bool training);

/// gx = mask ? gy / (1 - p) : 0; mask is bool and has gy's sizes.
Tensor dropout_backward(const Tensor& gy, const Tensor& mask, double p);

/// Like dropout, but whole channels of x [N, C, ...] become 0: one draw for each. dropout1d, dropout2d and dropout3d in
/// PyTorch. The numbers are not PyTorch's. Throws ShapeError for a rank below 2.
Tensor feature_dropout(const Tensor& x, double p, bool training);
/// For networks with selu: elements are replaced by the value that selu has far left of 0, with probability `p`, and
/// the result is shifted and scaled so that mean 0 and variance 1 are kept. Source: torch.nn.functional.alpha_dropout.
Tensor alpha_dropout(const Tensor& x, double p, bool training);
/// alpha_dropout of whole channels of x [N, C, ...].
Tensor feature_alpha_dropout(const Tensor& x, double p, bool training);

}  // namespace tandem
#pragma GCC visibility pop
