#pragma once
// The two layouts of [N, C, H, W] and [N, C, D, H, W] tensors that convolutions work on: contiguous, and channels-last,
// with the channels innermost. MemoryFormat::ChannelsLast names the latter for rank 4 only.
#include "tandem/base/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::kernels {

/// Strides of an [N, C, ...] tensor stored in the order N, ..., C.
inline Dims strides_with_channels_last(IntArrayRef sizes) {
  Dims order{sizes[0]};
  for (size_t d = 2; d < sizes.size(); ++d) order.push_back(sizes[d]);
  order.push_back(sizes[1]);
  const Dims steps = contiguous_strides(order);
  Dims strides{steps[0], steps.back()};
  for (size_t d = 2; d < sizes.size(); ++d) strides.push_back(steps[d - 1]);
  return strides;
}

inline Dims strides_in_layout(IntArrayRef sizes, bool channels_last) {
  return channels_last ? strides_with_channels_last(sizes) : contiguous_strides(sizes);
}

/// Whether `x` is dense in this layout; strides of sizes of 1 are ignored.
inline bool has_layout(const Tensor& x, bool channels_last) {
  if (!channels_last) return x.is_contiguous();
  if (x.numel() == 0) return true;
  const Dims strides = strides_with_channels_last(x.sizes());
  for (size_t d = 0; d < strides.size(); ++d) {
    if (x.sizes()[d] != 1 && x.strides()[d] != strides[d]) return false;
  }
  return true;
}

inline Tensor empty_in_layout(IntArrayRef sizes, const TensorOptions& options, bool channels_last) {
  const Tensor x = empty(sizes, options.memory_format(MemoryFormat::Contiguous));
  return channels_last ? make_view(x, sizes, strides_with_channels_last(sizes), 0) : x;
}

}  // namespace tandem::kernels
