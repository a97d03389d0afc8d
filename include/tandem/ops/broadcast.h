#pragma once
// Broadcasting without copies. Internal.
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

}  // namespace tandem::detail
