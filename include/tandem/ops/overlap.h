#pragma once
// Handling of operands that share memory with the tensor that a kernel writes. Internal.
#include <utility>

#include "tandem/ops/broadcast.h"
#include "tandem/ops/convert.h"

#pragma GCC visibility push(default)
namespace tandem::detail {

/// Returns the addresses of the first byte of `x` and of the byte after its last.
inline std::pair<const char*, const char*> memory_of(const Tensor& x) {
  const char* first = static_cast<const char*>(x.raw_bytes());
  return {first, first + extent_of(x.sizes(), x.strides()).value() * static_cast<int64_t>(x.element_size())};
}

/// Returns true if both tensors have the same elements in the same memory locations.
inline bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.raw_bytes() != b.raw_bytes() || a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  for (size_t d = 0; d < a.sizes().size(); ++d) {
    if (a.sizes()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

/// Returns true if writing `y` element by element may overwrite elements of `x` before they are read.
inline bool clobbers(const Tensor& y, const Tensor& x) {
  if (y.device() != x.device()) return false;
  const auto [y_first, y_end] = memory_of(y);
  const auto [x_first, x_end] = memory_of(x);
  return y_first < x_end && x_first < y_end && !same_elements(y, x);
}

/// Returns `x` broadcast to y's sizes, for a kernel that reads it and writes `y`. Copies `x` first if the kernel would
/// clobber it.
inline Tensor operand_beside(const Tensor& y, const Tensor& x) {
  const Tensor view = broadcast_view(x, y.sizes());
  return clobbers(y, view) ? broadcast_view(clone(x), y.sizes()) : view;
}

}  // namespace tandem::detail
#pragma GCC visibility pop
