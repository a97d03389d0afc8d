#pragma once
// One convolution in cuDNN's graph API. Plans (the engine that the heuristic names or that was the fastest, made ready)
// are kept per thread by ConvKey.
#include <functional>
#include <string>

#include "tandem/backend.h"

namespace tandem::cuda {

enum class ConvDirection : uint8_t { forward, backward_input, backward_weight };

/// x: [N, C, H, W], w: [O, C / groups, KH, KW], y: [N, O, OH, OW] or the gradients in their places. The direction says
/// which one is written. All three are dense, channels-last or all row-major.
struct Convolution {
  ConvDirection direction = ConvDirection::forward;
  Tensor x, w, y;
  Tensor bias;        ///< optional, forward only: [O], contiguous; y = conv + bias, rounded once
  bool relu = false;  ///< forward only: y = max(conv + bias, 0), NaN where that is NaN
  Conv2dParams params;
  bool channels_last = false;
  bool exact_in_tf32 = false;  ///< f32 tensors whose factors have at most 10 bits of mantissa: TF32 rounds nothing
};

/// False, with nothing of use written, when cuDNN has no engine that keeps the contract (sums in f32, f64 for f64), and
/// then `why`, when given, gets what cuDNN said; or when `apart`, which does the same without bias and relu fused, is
/// faster: cuda::benchmark() compares them.
bool convolve(const Convolution& convolution, std::string* why = nullptr, const std::function<void()>& apart = {});

}  // namespace tandem::cuda
