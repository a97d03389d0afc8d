#pragma once
// The windows of a convolution as rows of a matrix.
#include "tandem/backend.h"

namespace tandem::cuda {

/// Writes a row for each output pixel (n, oh, ow): the elements [KH, KW, C] of x: [N, C, H, W] that the kernel reads
/// there, 0 outside the image, followed by zeros. `rows`: [N OH OW, L] with L a multiple of 8, contiguous, its data
/// aligned to 16 bytes. x has a 16-bit dtype and contiguous channels. `kernel`: KH, KW; `out`: OH, OW.
void window_rows(const Tensor& rows, const Tensor& x, IntArrayRef kernel, IntArrayRef out, const ConvParams& p);

}  // namespace tandem::cuda
