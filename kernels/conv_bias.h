#pragma once
// A convolution's bias beside its [N, C, H, W] tensors.
#include "tandem/tensor/tensor.h"

namespace tandem::kernels {

/// [C] seen as [1, C, 1, 1]: a reduction over images into it gives the bias's gradient.
inline Tensor as_channels(const Tensor& bias) {
  return make_view(bias, {1, bias.size(0), 1, 1}, {0, bias.stride(0), 0, 0}, bias.storage_offset());
}

}  // namespace tandem::kernels
