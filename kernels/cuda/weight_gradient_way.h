#pragma once
// How a convolution's f32 weight gradient is computed from 16-bit operands: as products over columns, or by cuDNN from
// operands widened to f32. Host code that can be tested without a GPU.
#include <cstdint>

#include "tandem/base/shape.h"

namespace tandem::cuda {

/// Estimated cost of the two ways, in bytes of memory traffic. None of it has been measured.
///
/// Columns are written and read once, 2 bytes per element each time, unless the image itself is the columns (a 1x1
/// kernel without stride); then the tensor cores compute 2 pixels * taps * outputs flops at the rate for 16 bits.
/// Widening reads 2 and writes 4 bytes per element of the image and of the output's gradient, and cuDNN reads the 4
/// again; then it computes at the rate of TF32, half of that for 16 bits, or of ordinary f32 before compute
/// capability 8.0, an eighth. 180 flops of 16 bits per byte is the practical balance of an H100, and near that of other
/// GPUs.
struct WeightGradientCosts {
  double columns, widened;
};

/// x: [N, C, H, W], weight: [O, C, KH, KW], y: [N, O, OH, OW], without groups. `major`: of the compute capability.
inline WeightGradientCosts weight_gradient_costs(IntArrayRef x, IntArrayRef weight, IntArrayRef y, int major) {
  const auto size = [](IntArrayRef t) { return static_cast<double>(t[0] * t[1]) * static_cast<double>(t[2] * t[3]); };
  constexpr double kFlopsPerByte = 180;
  const double outputs = static_cast<double>(weight[0]), taps = size(weight) / outputs;
  const double columns = size(y) / outputs * taps, flops = 2 * columns * outputs;
  const bool is_x = weight[2] * weight[3] == 1 && x[2] == y[2] && x[3] == y[3];
  return {(is_x ? 0 : 4 * columns) + flops / kFlopsPerByte,
          10 * (size(x) + size(y)) + flops * (major >= 8 ? 2 : 8) / kFlopsPerByte};
}

}  // namespace tandem::cuda
