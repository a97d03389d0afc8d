#pragma once
// The columns that a convolution multiplies (im2col), and their sums (col2im): each is the derivative of the other.
// tensor/tensor.h has unfold() along one dimension.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The blocks of kernel_size [KH, KW] of each image, as columns: y[n, (c KH + k) KW + l, i OW + j] =
/// x[n, c, i s - p + k d, j s - p + l d], or 0 outside of x. x: [N, C, H, W] or [C, H, W]; y: [N, C KH KW, OH OW] or
/// [C KH KW, OH OW], with OH and OW as in conv2d. Each argument has one entry, or two for height and width. Throws
/// ShapeError if no block fits, StateError for arguments out of range. Source: torch.nn.functional.unfold (at::im2col).
Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);

/// Images of output_size [H, W] from columns, of which overlapping ones are summed (in f32, f64 for f64): each
/// x[n, (c KH + k) KW + l, i OW + j] is added to y[n, c, i s - p + k d, j s - p + l d], if that is inside y.
/// x: [N, C KH KW, OH OW] or [C KH KW, OH OW]; y: [N, C, H, W] or [C, H, W]. Throws like im2col, also ShapeError if the
/// sizes of x are not those of y's columns. Source: torch.nn.functional.fold (at::col2im).
Tensor col2im(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride);

}  // namespace tandem
#pragma GCC visibility pop
