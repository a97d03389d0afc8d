#pragma once
// Sampling of images at the positions of a grid, and grids of affine maps. nn::functional::grid_sample and affine_grid
// choose by options.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y[n, c, i, j] = x[n, c] at the position grid[n, i, j] = (column, row), between -1 and 1. x: [N, C, H, W], grid:
/// [N, OH, OW, 2], y: [N, C, OH, OW]; or x: [N, C, D, H, W], grid: [N, OD, OH, OW, 3], y: [N, C, OD, OH, OW].
/// interpolation_mode: 0 linear, 1 nearest, 2 cubic (images only). padding_mode, for positions outside: 0 zeros, 1 the
/// border, 2 reflection. -1 and 1 are the edges of the image, or with align_corners the centres of its first and last
/// elements. Sums are held in f32 (f64 for f64). Throws DTypeError unless x and grid have one dtype (autocast
/// promotes them). Source: torch.nn.functional.grid_sample.
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners);

/// The positions for grid_sampler that theta maps the elements of an output to: grid[n, i, j] = theta[n] (column, row,
/// 1). theta: [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with size [N, C, D, H, W]. The products are those of bmm.
/// Source: torch.nn.functional.affine_grid.
Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners);

}  // namespace tandem
#pragma GCC visibility pop
