#pragma once
// View of a convolution's bias that broadcasts over its [N, C, H, W] tensors.
#include "tandem/tensor/tensor.h"

namespace tandem::kernels {

/// [C] viewed as [1, C, 1, 1]: summing images into it gives the gradient of the bias.
inline Tensor as_channels(const Tensor& bias) {
  return make_view(bias, {1, bias.size(0), 1, 1}, {0, bias.stride(0), 0, 0}, bias.storage_offset());
}

}  // namespace tandem::kernels
