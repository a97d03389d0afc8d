#pragma once
// Convolutions with 3 x 3 or 5 x 5 kernels by Winograd's method: a quarter, or 0.36, of the products of a direct
// convolution.
//
// Contract: f16 and bf16 are widened, transforms and products are f32, results are rounded once. The error is
// that of f32 sums over all products of a tile of 6 x 6 pixels: small results beside large ones have an error relative
// to the large ones, and an infinite or NaN pixel may make all results of its tiles NaN or infinite. Deterministic;
// results do not depend on the number of threads.
#include "kernels/cpu/kernels.h"

namespace tandem::cpu::winograd {

/// Whether the method applies to a convolution of x to y, or the gradient of its weights, and is faster than a direct
/// one on this processor. It applies to images, kernels of 3 x 3 or 5 x 5, strides, dilations and groups of 1, and not
/// to f64. TANDEM_WINOGRAD=0 in the environment turns it off.
bool pays(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p);
/// The same for the gradient of the inputs.
bool backward_input_pays(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p);

/// Where the method applies. Layouts are arbitrary; channels-last tensors are not copied. `bias` may be undefined.
void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p);
void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p);
void conv_backward_weight(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p);

}  // namespace tandem::cpu::winograd
