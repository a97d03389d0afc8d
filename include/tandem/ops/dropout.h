#pragma once
// Dropout and its derivative.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// In training, each element becomes 0 with probability `p`, else x / (1 - p). Returns x itself if not `training` or
/// p = 0. Draws from default_generator(); the mask is the same on every device. Throws StateError for p outside [0, 1].
Tensor dropout(const Tensor& x, double p, bool training);

/// gx = mask ? gy / (1 - p) : 0; mask is bool and has gy's sizes.
Tensor dropout_backward(const Tensor& gy, const Tensor& mask, double p);

}  // namespace tandem
#pragma GCC visibility pop

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/dropout-inl.h"
#endif
