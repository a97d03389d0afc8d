#pragma once
// Tensors for the lists with which tests of optimizer kernels step.
#include "kernels/raw_tensors.h"

namespace tandem::testing {

enum class ListLayout { contiguous, transposed, strided_grad };

/// Returns [3, n], by columns if `transposed`.
inline Tensor list_tensor(int64_t n, DType dtype, bool transposed) {
  return transposed ? empty_strided({3, n}, {1, 3}, dtype) : empty({3, n}, dtype);
}

/// Returns [3, n] for a gradient; with ListLayout::strided_grad there are gaps between its elements.
inline Tensor list_gradient(int64_t n, DType dtype, ListLayout layout) {
  if (layout == ListLayout::strided_grad) return empty_strided({3, n}, {2, 7}, dtype);
  return list_tensor(n, dtype, layout == ListLayout::transposed);
}

}  // namespace tandem::testing
