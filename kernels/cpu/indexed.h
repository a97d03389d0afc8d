#pragma once
// What the kernels that read and write by index share: strides without the indexed dimension, and checks of indices.
#include <cstdint>

#include "tandem/tensor/tensor.h"

namespace tandem::cpu {

/// A tensor's strides with that of `dim` set to 0: the index replaces that coordinate.
struct Indexed {
  Dims others;
  int64_t along = 0;  ///< stride of `dim`
  Indexed(const Tensor& t, int64_t dim) : others(t.strides()) {
    if (others.empty()) return;
    along = others[static_cast<size_t>(dim)];
    others[static_cast<size_t>(dim)] = 0;
  }
};

/// Strides of a rank-1 index that is shared by all slices of a tensor of `rank` dimensions.
inline Dims expanded(const Tensor& index, int64_t rank, int64_t dim) {
  Dims strides(static_cast<size_t>(rank), 0);
  if (rank > 0 && index.dim() > 0) strides[static_cast<size_t>(dim)] = index.strides()[0];
  return strides;
}

/// The number of slices along `dim`; 1 for rank 0.
inline int64_t size_along(const Tensor& t, int64_t dim) {
  return t.dim() == 0 ? 1 : t.sizes()[static_cast<size_t>(dim)];
}

/// Calls f(Index{}) with the C++ type of the indices.
template <class F>
void visit_index(DType dtype, F&& f) {
  if (dtype == DType::I32) return f(int32_t{});
  f(int64_t{});
}

/// Throws IndexError unless every index is in [0, size).
void check_indices(const Tensor& index, int64_t size, int64_t dim);

}  // namespace tandem::cpu
