#pragma once
// One matrix product in cuBLASLt. Plans (descriptors, and the algorithm that the heuristic proposes or that was
// fastest) are cached per thread by GemmKey.
#include <functional>
#include <utility>

#include "kernels/cuda/gemm_key.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// d = a b, or d += a b, with the operation `extra`. d has the dtype of a and b, or f32 if that is f16 or bf16.
/// Operands of float8, not both e5m2, are multiplied by their scales; a has its rows and b its columns in contiguous
/// memory, all sizes are multiples of 16, and d is f32, f16 or bf16.
struct Product {
  Tensor d, a, b;
  Tensor vector;  ///< contiguous, of d's dtype, aligned to 16 bytes; undefined without bias and row sums
  GemmExtra extra = GemmExtra::none;
  bool accumulate = false;
  Tensor scales_a = {}, scales_b = {};  ///< of float8, laid out as `forms`
  std::pair<ScaleForm, ScaleForm> forms = {};
};

/// Returns false if a BLAS cannot use the tensors in place, cuBLASLt has no algorithm, or the product is faster with
/// its extra done separately; the contents of the results are then unspecified. `apart` does the extra separately, into
/// the same tensors; it is empty for a product without extra. cuda::autotune() compares the two.
bool multiply(const Product& product, const std::function<void()>& apart = {});

}  // namespace tandem::cuda
