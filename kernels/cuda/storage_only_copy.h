#pragma once
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Whether a copy converts to or from a dtype that only holds values.
inline bool converts_storage_only(const Tensor& dst, const Tensor& src) {
  return dst.dtype() != src.dtype() && (is_storage_only(dst.dtype()) || is_storage_only(src.dtype()));
}
/// dst = src on one device, for such a copy; equal sizes, not empty.
void copy_storage_only(const Tensor& dst, const Tensor& src);

}  // namespace tandem::cuda
