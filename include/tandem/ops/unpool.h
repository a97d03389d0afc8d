#pragma once
// The reverse of max pooling, and max pooling with windows at random places. Inputs are [N, C, ...] or [C, ...];
// results have x's dtype.
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Zeros of output_size, the last two (three) sizes, with the elements of x at the places that `indices` (i64, of x's
/// sizes) names among the elements of each channel, as max_pool2d_with_indices returns them. Of several elements at one
/// place, the last one wins on the CPU and in deterministic mode, and each gets the place's gradient. The stride and
/// the padding of the pooling have no effect. Source: torch.nn.functional.max_unpool2d.
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride = {},
                    IntArrayRef padding = {});

/// The largest element of each window, or NaN if it contains one, and its i64 index among the elements of its channel.
/// Along a dimension of n elements, window o of OH begins at floor((o + s) a) - floor(s a) with a = (n - k) / (OH - 1),
/// and the last one at n - k, for s = samples[n, c, d]. random_samples: [N, C, 2 or 3] in [0, 1), x's dtype; for two
/// dimensions, width comes before height. x's batch dimension may be absent, samples then have N = 1. Source:
/// torch.nn.functional.fractional_max_pool2d (Graham 2014).
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples);

}  // namespace tandem
#pragma GCC visibility pop
