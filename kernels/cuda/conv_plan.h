#pragma once
// One convolution in cuDNN's graph API. Plans (the engine that the heuristic proposes or that was fastest, ready to
// run) are cached per thread by ConvKey.
#include <functional>
#include <string>

#include "tandem/backend.h"

namespace tandem::cuda {

enum class ConvDirection : uint8_t { forward, backward_input, backward_weight };

/// x: [N, C, H, W], w: [O, C / groups, KH, KW], y: [N, O, OH, OW], or with a depth before the height, or the gradients
/// in their places. The direction determines which one is written. All three are dense, and all channels-last or all
/// row-major.
struct Convolution {
  ConvDirection direction = ConvDirection::forward;
  Tensor x, w, y;
  Tensor bias;  ///< optional, forward only: [O], contiguous; y = conv + bias, rounded once
  ConvParams params;
  bool channels_last = false;
  bool exact_in_tf32 = false;  ///< f32 tensors whose factors have at most 10 mantissa bits: TF32 does not round them
  bool fallback = false;       ///< asks for the slow engines that cuDNN has for what its others do not support
};

/// Returns false if cuDNN has no engine that keeps the contract (sums in f32, f64 for f64); `why`, if given, then
/// receives cuDNN's reason. Also returns false if `apart`, which does the same without fusing the bias, is faster:
/// cuda::benchmark() compares them. If false, the result's contents are unspecified.
bool convolve(const Convolution& convolution, std::string* why = nullptr, const std::function<void()>& apart = {});

}  // namespace tandem::cuda
