#pragma once
// Table of the transforms of Winograd's convolution: tiles of 6 x 6 pixels give 4 x 4 results of a 3 x 3 kernel, or
// 2 x 2 of a 5 x 5 kernel, with 36 products per pair of channels instead of 144 or 100. Used by
// kernels/cpu/winograd/.
//
// In one dimension, with polynomials evaluated at the points 0, 5/8, -5/8, 3/2, -3/2 and infinity:
//
//   y = A^T [(G g) * (B^T d)],   y_i = sum_j g_j d_(i + j)
//
// for R terms g, M = 7 - R results and 6 inputs d; B^T is the same for every R. For the gradient of the weights, gy is
// g, and R and M change places. The gradient of the inputs is a convolution of gy, or by the transposed formula
//
//   gd = B [(G g) * (A gy)],   A = D G for M terms and a diagonal matrix D,
//
// and overlapping results of tiles are added. D has N'(p) at a point p, for N(p) = p (p^2 - 25/64) (p^2 - 9/4), and 1
// at infinity. In two dimensions, each transform is applied to the rows and then to the columns. These points have
// exact coefficients and a small error: with random data, the root mean square of the error in f32 is 1.8 times that of
// direct sums for 3 x 3 kernels and 1.2 times for 5 x 5 (with the usual 0, 1, -1, 2, -2: 3.6 and 3.0;
// benchmarks/torch/winograd_error.py). Relative to the results, the error of the transposed formula is about the same.
// Source: Lavin and Gray, "Fast algorithms for convolutional neural networks" (2015); choice of points: Barabasz et
// al., "Error analysis and improving the accuracy of Winograd convolution for deep neural networks" (2018).
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Pixels along a side of a tile's input, and their number.
inline constexpr int kWinogradSide = 6, kWinogradPoints = kWinogradSide * kWinogradSide;

/// Where the 36 results of a tile are: value p of channel c at p * point + c / 16 * block + c % 16. Blocks are padded
/// with zeros.
struct WinogradPlace {
  float* data;
  int64_t point, block;
};

/// Pixels are pointers to the values of all channels, contiguous; row by row.
template <class Pixel>
struct WinogradTable {
  using ToPoints = void (*)(const WinogradPlace& to, const Pixel* const* pixels, int64_t channels);
  using FromPoints = void (*)(Pixel* const* y, const WinogradPlace& m, const float* bias, int64_t channels);

  /// B^T d B of 6 x 6 pixels.
  ToPoints data;
  /// G g G^T of 2 x 2 to 5 x 5 pixels.
  ToPoints kernel[4];
  /// A^T m A + bias: 2 x 2 to 5 x 5 pixels. `bias` may be null.
  FromPoints result[4];

  /// The transform of squares of this side.
  ToPoints to_points(int64_t side) const { return side == kWinogradSide ? data : kernel[side - 2]; }
  FromPoints from_points(int64_t side) const { return result[side - 2]; }
};

/// f16 and bf16 are widened, and rounded once.
struct WinogradTables {
  WinogradTable<float> f32;
  WinogradTable<uint16_t> f16, bf16;
  /// Adds (B D) m (B D)^T to 6 x 6 pixels.
  void (*add_data)(float* const* pixels, const WinogradPlace& m, int64_t channels);
};
TANDEM_SIMD_TABLE(WinogradTables, winograd_tables)

}  // namespace tandem::cpu
