#pragma once
// 2-d convolution and its derivatives as ops. f16, bf16, f32 and f64; sums are held in f32, for f64 in f64.
#include <optional>
#include <tuple>

#include "tandem/backend.h"
#include "tandem/tensor/tensor.h"

namespace tandem {

/// y[n, o, i, j] = bias[o] + sum over c, k, l of x[n, c, i s - p + k d, j s - p + l d] weight[o, c, k, l], zero outside
/// x. x: [N, C, H, W] or [C, H, W]; weight: [O, C / groups, KH, KW]; bias: [O] or undefined; y: [N, O, OH, OW] with
/// OH = (H + 2 p - d (KH - 1) - 1) / s + 1. stride, padding and dilation have one entry, or two for height and width.
/// With `groups`, channels and outputs are split evenly, each part for itself. y is channels-last when x or weight is.
/// Throws ShapeError for sizes that do not fit, StateError for a stride, padding, dilation or groups out of range,
/// DTypeError when the dtypes differ (autocast makes them agree). Source: torch.nn.functional.conv2d.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
              IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// relu(conv2d(x, weight, bias, ...)) in one call of the device's library where that keeps NaN: a tensor less, and
/// equal to the two ops up to the order of the sums. Source: torch.cudnn_convolution_relu.
Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                   IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// dL/dx of conv2d, with x of `sizes`. Operands f32 where the other is f16 or bf16 are rounded to that dtype, which is
/// the result's too.
Tensor conv2d_backward_input(const Tensor& gy, const Tensor& weight, IntArrayRef sizes, const Conv2dParams& params);

/// (dL/dweight, dL/dbias) of conv2d, with the weight of `sizes`; the latter undefined unless `with_bias`. `dtype`, the
/// results', is f32 or that of the operands (the default); f32 is written without rounding in between. An f32 operand
/// beside one of f16 or bf16 is rounded to that dtype.
std::tuple<Tensor, Tensor> conv2d_backward_weight(const Tensor& gy, const Tensor& x, IntArrayRef sizes,
                                                  const Conv2dParams& params, std::optional<DType> dtype = {},
                                                  bool with_bias = false);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/conv-inl.h"
#endif
