#pragma once
// Other sizes for an operand of an op. Internal.
#include "tandem/tensor/tensor.h"

namespace tandem::detail {

/// A raw view of `x` with `sizes`, stride 0 where it repeats.
inline Tensor broadcast_view(const Tensor& x, IntArrayRef sizes) {
  if (x.sizes() == sizes) return x;
  const size_t lead = sizes.size() - static_cast<size_t>(x.dim());
  Dims strides(sizes.size(), 0);
  for (size_t d = lead; d < sizes.size(); ++d) {
    if (x.sizes()[d - lead] != 1) strides[d] = x.strides()[d - lead];
  }
  return make_view(x, sizes, strides, x.storage_offset());
}

/// reshape() where the result may be `x` itself.
inline Tensor with_shape(const Tensor& x, IntArrayRef sizes) { return x.sizes() == sizes ? x : x.reshape(sizes); }

}  // namespace tandem::detail
