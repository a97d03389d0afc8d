#pragma once
// Broadcasting and reshaping of an op's operands. Internal.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::detail {

/// Returns `x` broadcast to `sizes`, as a view without history; the stride is 0 where `x` repeats.
inline Tensor broadcast_view(const Tensor& x, IntArrayRef sizes) {
  if (x.sizes() == sizes) return x;
  const size_t lead = sizes.size() - static_cast<size_t>(x.dim());
  Dims strides(sizes.size(), 0);
  for (size_t d = lead; d < sizes.size(); ++d) {
    if (x.sizes()[d - lead] != 1) strides[d] = x.strides()[d - lead];
  }
  return make_view(x, sizes, strides, x.storage_offset());
}

/// Like reshape(), but returns `x` itself if it has these sizes.
inline Tensor with_shape(const Tensor& x, IntArrayRef sizes) { return x.sizes() == sizes ? x : x.reshape(sizes); }

}  // namespace tandem::detail
#pragma GCC visibility pop
