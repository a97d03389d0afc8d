#pragma once
// One convolution in cuDNN's graph API. Plans (the engine that the heuristic names, made ready) are kept per thread by
// ConvKey.
#include <string>

#include "tandem/backend.h"

namespace tandem::cuda {

enum class ConvDirection : uint8_t { forward, backward_input, backward_weight };

/// x: [N, C, H, W], w: [O, C / groups, KH, KW], y: [N, O, OH, OW] or the gradients in their places. The direction says
/// which one is written. All three are dense, channels-last or all row-major.
struct Convolution {
  ConvDirection direction = ConvDirection::forward;
  Tensor x, w, y;
  Tensor bias;  ///< optional, forward only: [O], contiguous; y = conv + bias, rounded once
  Conv2dParams params;
  bool channels_last = false;
};

/// False, with nothing written, when cuDNN has no engine that keeps the sums in f32 (f64 for f64); `why`, when given,
/// then says what cuDNN said.
bool convolve(const Convolution& convolution, std::string* why = nullptr);

}  // namespace tandem::cuda
