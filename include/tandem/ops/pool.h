#pragma once
// 2-d pooling and its derivatives as ops. Inputs are [N, C, H, W] or [C, H, W]; results have x's dtype and memory
// format. kernel, stride, padding and dilation have one entry, or two for height and width. An empty stride means the
// kernel's size.
#include <optional>

#include "tandem/backend.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Largest value of each window, or NaN if the window contains one. The gradient goes to the first of equal maxima.
/// OH = floor((H + 2 p - d (k - 1) - 1) / s) + 1. With `ceil_mode` the quotient is rounded up instead, but windows that
/// would start in the padding after x are omitted. Throws ShapeError if no window fits, StateError for a kernel, stride
/// or dilation below 1, or a padding above half of the kernel. Source: torch.nn.functional.max_pool2d.
Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  IntArrayRef dilation = {1}, bool ceil_mode = false);

/// Mean of each window; sizes as for max_pool2d. The divisor is the window's size, including the padding if
/// `count_include_pad` (but not positions beyond it that ceil_mode adds), or `divisor_override` if given. Sums are held
/// in f32 (f64 for f64). Source: torch.nn.functional.avg_pool2d.
Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  bool ceil_mode = false, bool count_include_pad = true, std::optional<int64_t> divisor_override = {});

/// Means of windows that divide x into `output_size` parts. Output row o is the mean of the rows from floor(o H / OH)
/// up to, but excluding, ceil((o + 1) H / OH).
Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size);

// ---- derivatives, for tensors of rank 4
/// gx of `sizes`: adds each gy to the cell of its window that `indices` (u8 or i32) names.
Tensor max_pool2d_backward(const Tensor& gy, const Tensor& indices, IntArrayRef sizes, const Pool2dParams& params);
/// x at the cells in `indices`; the derivative of max_pool2d_backward.
Tensor max_pool2d_gather(const Tensor& x, const Tensor& indices, const Pool2dParams& params);
/// gx of `sizes` from avg_pool2d's gy.
Tensor avg_pool2d_backward(const Tensor& gy, IntArrayRef sizes, const Pool2dParams& params);
/// gx of `sizes` from adaptive_avg_pool2d's gy.
Tensor adaptive_avg_pool2d_backward(const Tensor& gy, IntArrayRef sizes);

}  // namespace tandem
#pragma GCC visibility pop
