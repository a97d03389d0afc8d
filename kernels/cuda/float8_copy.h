#pragma once
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Whether a copy converts to or from float8.
inline bool converts_float8(const Tensor& dst, const Tensor& src) {
  return dst.dtype() != src.dtype() && (is_float8(dst.dtype()) || is_float8(src.dtype()));
}
/// dst = src on one device, for such a copy; equal sizes, not empty.
void copy_float8(const Tensor& dst, const Tensor& src);

}  // namespace tandem::cuda
