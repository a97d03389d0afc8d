#pragma once
// Convolutions by definition, for f64 and for calls that oneDNN refuses. All tensors are contiguous f64; sums in f64.
#include "tandem/backend.h"

namespace tandem::cpu {

void conv2d_loops(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p);
void conv2d_backward_input_loops(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p);
void conv2d_backward_weight_loops(const Tensor& gweight, const Tensor& gy, const Tensor& x, const Conv2dParams& p);

}  // namespace tandem::cpu
