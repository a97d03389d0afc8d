#pragma once
// Views of a convolution's bias with the rank or sizes of its [N, C, ...] tensors.
#include "tandem/tensor/tensor.h"

namespace tandem::kernels {

/// [C] viewed as [1, C, 1, 1], of this rank: summing images into it gives the gradient of the bias.
inline Tensor as_channels(const Tensor& bias, int64_t rank) {
  Dims sizes(static_cast<size_t>(rank), 1), strides(static_cast<size_t>(rank), 0);
  sizes[1] = bias.size(0);
  strides[1] = bias.stride(0);
  return make_view(bias, sizes, strides, bias.storage_offset());
}

/// One value per channel, viewed as a tensor of y's sizes; undefined stays undefined.
inline Tensor spread_over_channels(const Tensor& bias, const Tensor& y) {
  if (!bias.defined()) return bias;
  Dims strides(y.sizes().size(), 0);
  strides[1] = bias.stride(0);
  return make_view(bias, y.sizes(), strides, bias.storage_offset());
}

}  // namespace tandem::kernels
