#pragma once
// Pooling of one and three dimensions, adaptive and power-average pooling, and max pooling with indices. Inputs are
// [N, C, ...] or [C, ...]; results have x's dtype. kernel, stride, padding and dilation have one entry, or one per
// pooled dimension; an empty stride means the kernel's size. Output sizes and errors are as for max_pool2d and
// avg_pool2d (ops/pool.h). Pooling works along one dimension after another, which gives the same windows.
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Largest value of each window, or NaN if it contains one; the gradient goes to the first of equal maxima.
Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  IntArrayRef dilation = {1}, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  IntArrayRef dilation = {1}, bool ceil_mode = false);
/// Also returns the maximum's i64 index among the elements of its channel, in row-major order.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = {0}, IntArrayRef dilation = {1},
                                                   bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = {0}, IntArrayRef dilation = {1},
                                                   bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = {0}, IntArrayRef dilation = {1},
                                                   bool ceil_mode = false);

/// Mean of each window, with avg_pool2d's divisors. Sums are held in f32 (f64 for f64).
Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = {0},
                  bool ceil_mode = false, bool count_include_pad = true, std::optional<int64_t> divisor_override = {});

/// Means of windows that divide x into `output_size` parts, as for adaptive_avg_pool2d.
Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size);
Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size);
/// Largest values of these windows, and their indices as for max_pool2d_with_indices.
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size);

/// (sum of x^p over each window)^(1/p), without padding; p = `norm_type`. NaN where the sum is negative, unless p is 1.
/// Source: torch.nn.functional.lp_pool1d.
Tensor lp_pool1d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false);
Tensor lp_pool2d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false);
Tensor lp_pool3d(const Tensor& x, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false);

}  // namespace tandem
#pragma GCC visibility pop
