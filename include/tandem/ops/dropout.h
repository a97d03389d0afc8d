#pragma once
// Dropout.
#include "tandem/tensor/tensor.h"

namespace tandem {

/// In training each element is 0 with probability `p`, else x / (1 - p); otherwise x itself, as with p = 0. Draws from
/// default_generator(): the same mask on every device. Throws StateError for p outside [0, 1].
Tensor dropout(const Tensor& x, double p, bool training);

/// gx = mask ? gy / (1 - p) : 0; mask is bool, of gy's sizes.
Tensor dropout_backward(const Tensor& gy, const Tensor& mask, double p);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/dropout-inl.h"
#endif
