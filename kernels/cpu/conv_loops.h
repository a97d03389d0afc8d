#pragma once
// Convolutions by definition, for f64 and for calls that the library refuses. All tensors are contiguous f64; sums in
// f64.
#include "tandem/backend.h"

namespace tandem::cpu {

void conv_loops(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p);
void conv_backward_input_loops(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p);
void conv_backward_weight_loops(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p);

}  // namespace tandem::cpu
