#pragma once
// 2-d convolution and its derivatives as ops, for f16, bf16, f32 and f64. Sums are held in f32 (f64 for f64).
#include <optional>
#include <tuple>

#include "tandem/backend.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y[n, o, i, j] = bias[o] + sum over c, k, l of x[n, c, i s - p + k d, j s - p + l d] weight[o, c, k, l], where x is
/// zero outside its bounds. x: [N, C, H, W] or [C, H, W]; weight: [O, C / groups, KH, KW]; bias: [O] or undefined;
/// y: [N, O, OH, OW] or [O, OH, OW] with OH = (H + 2 p - d (KH - 1) - 1) / s + 1. stride s, padding p and dilation d
/// have one entry, or two for height and width. `groups` divides channels and outputs into equal parts, which are
/// convolved separately. y is channels-last if x or weight is. Throws ShapeError for sizes that do not fit, StateError
/// for a stride, padding, dilation or groups out of range, DTypeError if the dtypes differ (autocast makes them equal).
/// Source: torch.nn.functional.conv2d.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
              IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// relu(conv2d(x, weight, bias, ...)), in one call of the device's library if that propagates NaN. Makes one tensor
/// fewer than the two ops, with the same result up to the order of the sums. Source: torch.cudnn_convolution_relu.
Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                   IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// dL/dx of conv2d, with x of `sizes`. If one operand is f32 and the other f16 or bf16, the f32 one is rounded to that
/// dtype, which is also the result's.
Tensor conv2d_backward_input(const Tensor& gy, const Tensor& weight, IntArrayRef sizes, const Conv2dParams& params);

/// (dL/dweight, dL/dbias) of conv2d, with the weight of `sizes`. dL/dbias is undefined unless `with_bias`. `dtype` is
/// the results' dtype: f32, without intermediate rounding, or that of the operands (the default). If one operand is f32
/// and the other f16 or bf16, the f32 one is rounded to that dtype.
std::tuple<Tensor, Tensor> conv2d_backward_weight(const Tensor& gy, const Tensor& x, IntArrayRef sizes,
                                                  const Conv2dParams& params, std::optional<DType> dtype = {},
                                                  bool with_bias = false);

}  // namespace tandem
#pragma GCC visibility pop

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/conv-inl.h"
#endif
