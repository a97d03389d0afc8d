#pragma once
// Table of the transforms of Winograd's convolution F(4x4, 3x3): 4 x 4 results of a 3 x 3 kernel, from 6 x 6 pixels,
// with 36 products per pair of channels instead of 144. Used by kernels/cpu/winograd.cpp.
//
// In one dimension, with polynomials evaluated at the points 0, 5/8, -5/8, 3/2, -3/2 and infinity:
//
//   y = A^T [(G g) * (B^T d)],   y_i = sum_j g_j d_(i + j)
//
// for M results, R = 7 - M terms and 6 inputs d. B^T is the same for every M: the forward pass has M = 4, R = 3, and
// the gradient of the weights M = 3, R = 4, with gy as g. In two dimensions, each transform is applied to the rows and
// then to the columns. These points have exact coefficients and a small error: with random data, the root mean square
// of the error in f32 is 1.6 times that of direct sums (with the usual 0, 1, -1, 2, -2: 3.7 times).
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
  /// B^T d B of 6 x 6 pixels.
  void (*data)(const WinogradPlace& to, const Pixel* const* d, int64_t channels);
  /// G g G^T of 3 x 3 or 4 x 4 pixels.
  void (*kernel3)(const WinogradPlace& to, const Pixel* const* g, int64_t channels);
  void (*kernel4)(const WinogradPlace& to, const Pixel* const* g, int64_t channels);
  /// A^T m A + bias: 3 x 3 or 4 x 4 pixels. `bias` may be null.
  void (*result3)(Pixel* const* y, const WinogradPlace& m, const float* bias, int64_t channels);
  void (*result4)(Pixel* const* y, const WinogradPlace& m, const float* bias, int64_t channels);
};

/// f16 and bf16 are widened, and rounded once.
struct WinogradTables {
  WinogradTable<float> f32;
  WinogradTable<uint16_t> f16, bf16;
};
TANDEM_SIMD_TABLE(WinogradTables, winograd_tables)

}  // namespace tandem::cpu
