#pragma once
// Convolutions of one to three dimensions, transposed ones, and their derivatives as ops, for f16, bf16, f32 and f64.
// Sums are held in f32 (f64 for f64).
#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>

#include "tandem/backend.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// conv2d of one dimension. x: [N, C, L] or [C, L]; weight: [O, C / groups, K]; bias: [O] or undefined; y: [N, O, OL]
/// or [O, OL]. Source: torch.nn.functional.conv1d.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
              IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// y[n, o, i, j] = bias[o] + sum over c, k, l of x[n, c, i s - p + k d, j s - p + l d] weight[o, c, k, l], where x is
/// zero outside its bounds. x: [N, C, H, W] or [C, H, W]; weight: [O, C / groups, KH, KW]; bias: [O] or undefined;
/// y: [N, O, OH, OW] or [O, OH, OW] with OH = (H + 2 p - d (KH - 1) - 1) / s + 1. stride s, padding p and dilation d
/// have one entry, or two for height and width. `groups` divides channels and outputs into equal parts, which are
/// convolved separately. y is channels-last if x or weight is. Throws ShapeError for sizes that do not fit, StateError
/// for a stride, padding, dilation or groups out of range, DTypeError if the dtypes differ (autocast makes them equal).
/// Source: torch.nn.functional.conv2d.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
              IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// conv2d of three dimensions. x: [N, C, D, H, W] or [C, D, H, W]; weight: [O, C / groups, KD, KH, KW]; bias: [O] or
/// undefined; y: [N, O, OD, OH, OW] or [O, OD, OH, OW], contiguous. Source: torch.nn.functional.conv3d.
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
              IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

namespace detail {
Tensor conv_with_padding(size_t dims, const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                         std::string_view padding, IntArrayRef dilation, int64_t groups);
}
/// The same with padding "valid" (none) or "same": the result has x's sizes; if a dimension gets an odd number of
/// zeros, the additional one is at its end. Throws StateError for other words, and for "same" with another stride than
/// 1.
template <std::convertible_to<std::string_view> Padding>  // not a string_view, which {0, 0} initialises too
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = {1}, int64_t groups = 1) {
  return detail::conv_with_padding(1, x, weight, bias, stride, padding, dilation, groups);
}
template <std::convertible_to<std::string_view> Padding>
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = {1}, int64_t groups = 1) {
  return detail::conv_with_padding(2, x, weight, bias, stride, padding, dilation, groups);
}
template <std::convertible_to<std::string_view> Padding>
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = {1}, int64_t groups = 1) {
  return detail::conv_with_padding(3, x, weight, bias, stride, padding, dilation, groups);
}

/// conv_transpose2d of one dimension. x: [N, C, L] or [C, L]; weight: [C, O / groups, K]; bias: [O] or undefined.
/// Source: torch.nn.functional.conv_transpose1d.
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                        IntArrayRef padding = {0}, IntArrayRef output_padding = {0}, int64_t groups = 1,
                        IntArrayRef dilation = {1});

/// The gradient of conv2d's input, for x as the gradient of its result, plus bias: each x[n, c, i, j] adds
/// x[n, c, i, j] weight[c, o, k, l] to y[n, o, i s - p + k d, j s - p + l d], if that is inside y. x: [N, C, H, W] or
/// [C, H, W]; weight: [C, O / groups, KH, KW]; bias: [O] or undefined; y: [N, O, OH, OW] or [O, OH, OW] with
/// OH = (H - 1) s - 2 p + d (KH - 1) + output_padding + 1. f16 and bf16 are rounded before the bias is added, and
/// again. Throws like conv2d, also StateError for an output_padding that is neither below the stride nor below the
/// dilation. Source: torch.nn.functional.conv_transpose2d.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                        IntArrayRef padding = {0}, IntArrayRef output_padding = {0}, int64_t groups = 1,
                        IntArrayRef dilation = {1});

/// conv_transpose2d of three dimensions. x: [N, C, D, H, W] or [C, D, H, W]; weight: [C, O / groups, KD, KH, KW]; bias:
/// [O] or undefined. Source: torch.nn.functional.conv_transpose3d.
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                        IntArrayRef padding = {0}, IntArrayRef output_padding = {0}, int64_t groups = 1,
                        IntArrayRef dilation = {1});

/// conv1d, conv2d or conv3d, or, if `transposed`, conv_transpose1d, 2d or 3d, by the rank of x, which must be batched.
/// output_padding must be 0 unless `transposed`. Source: at::convolution.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);

/// conv1d of sequences in the order of time, batch and channels. x: [T, B, C]; weight: [K, C, O]; bias: [O];
/// y: [T + 2 pad - K + 1, B, O]. x and y are used in place as a channels-last image. Source: torch.conv_tbc.
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad = 0);

/// relu(conv2d(x, weight, bias, ...)), in one call of the device's library if that propagates NaN. Makes one tensor
/// fewer than the two ops, with the same result up to the order of the sums. Source: torch.cudnn_convolution_relu.
Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = {1},
                   IntArrayRef padding = {0}, IntArrayRef dilation = {1}, int64_t groups = 1);

/// dL/dx of conv1d, conv2d or conv3d, with x of `sizes` (batched). If one operand is f32 and the other f16 or bf16, the
/// f32 one is rounded to that dtype, which is also the result's.
Tensor conv_backward_input(const Tensor& gy, const Tensor& weight, IntArrayRef sizes, const ConvParams& params);

/// (dL/dweight, dL/dbias) of conv1d, conv2d or conv3d, with the weight of `sizes`. dL/dbias is undefined unless
/// `with_bias`. `dtype` is the results' dtype: f32, without intermediate rounding, or that of the operands (the
/// default). If one operand is f32 and the other f16 or bf16, the f32 one is rounded to that dtype.
std::tuple<Tensor, Tensor> conv_backward_weight(const Tensor& gy, const Tensor& x, IntArrayRef sizes,
                                                const ConvParams& params, std::optional<DType> dtype = {},
                                                bool with_bias = false);

}  // namespace tandem
#pragma GCC visibility pop
