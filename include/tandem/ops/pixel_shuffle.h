#pragma once
// Rearrangements of channels. The elements' values are unchanged.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// [..., C r^2, H, W] -> [..., C, H r, W r]: each r^2 channels become a square of r x r pixels.
/// Source: torch.nn.functional.pixel_shuffle.
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
/// The inverse: [..., C, H r, W r] -> [..., C r^2, H, W].
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
/// Divides the channels of [N, C, ...] into `groups` and interleaves them: channel g C / groups + i moves to
/// i groups + g. Source: torch.nn.functional.channel_shuffle.
Tensor channel_shuffle(const Tensor& x, int64_t groups);

}  // namespace tandem
#pragma GCC visibility pop
