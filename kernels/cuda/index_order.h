#pragma once
// Rows of indices and their sorted order, for sums that must not depend on the order in which threads run.
#include "kernels/cuda/geometry.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Returns the index; one out of range stops the kernel.
template <class Index>
__device__ __forceinline__ int64_t checked(Index k, int64_t size) {
  if (k < 0 || k >= size) __trap();
  return k;
}

/// Rows of `count` indices in [0, size).
template <class Index>
struct IndexRows {
  Geometry<1> starts;  ///< the offsets of the rows
  const Index* data;
  int64_t step, count, size;

  __device__ int64_t at(int64_t start, int64_t j) const { return checked(data[start + j * step], size); }
  __device__ int64_t start(int64_t row) const {
    int64_t offset[1];
    starts.offsets(row, offset);
    return offset[0];
  }
};

/// [rows, count] i64: the positions of each row's indices in ascending order of value; equal values in ascending order
/// of position.
template <class Index>
Tensor index_order(const IndexRows<Index>& rows, Device device);

}  // namespace tandem::cuda
