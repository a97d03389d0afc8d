#pragma once
// Resizing of the last one, two or three dimensions of [N, C, ...]: nearest neighbour, linear and cubic interpolation.
// Sums are held in f32 (f64 for f64). The result has x's dtype and memory format; under autocast it is f32. `scales`
// (result size / input size, one per dimension), if given, replace the quotients of the sizes in the computation of
// positions. All throw ShapeError for another rank, empty images and sizes below 1, and StateError for scales that are
// not positive. nn::functional::interpolate chooses among them by options.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y[o] = x[floor(o in / out)]. Source: torch.nn.functional.interpolate, like the following.
Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales = {});
Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h = {},
                          std::optional<double> scales_w = {});
Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d = {},
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
/// y[o] = x[floor((o + 1/2) in / out)]
Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales = {});
Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h = {},
                                 std::optional<double> scales_w = {});
Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d = {},
                                 std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
/// Linear interpolation along each dimension at the positions (o + 1/2) in / out - 1/2, within the image; with
/// `align_corners` at o (in - 1) / (out - 1).
Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales = {});
Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                            std::optional<double> scales_d = {}, std::optional<double> scales_h = {},
                            std::optional<double> scales_w = {});
/// Cubic interpolation at the same positions (Keys 1981, a = -3/4). Beyond its border the image is constant.
Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
/// Both with antialiasing: where the result is smaller, its elements are means over as many elements of the image as
/// they stand for, with the weights of a triangle or of a cubic kernel (a = -1/2), as in Pillow.
Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                               std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                              std::optional<double> scales_h = {}, std::optional<double> scales_w = {});

}  // namespace tandem
#pragma GCC visibility pop
