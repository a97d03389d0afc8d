#pragma once
// One matrix product in cuBLASLt. Plans (descriptors, and the algorithm that the heuristic names or that was the
// fastest) are kept per thread by GemmKey.
#include <functional>

#include "kernels/cuda/gemm_key.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// d = a b, or d += a b, with what `extra` adds. d has the dtype of a and b, or f32 beside f16 and bf16.
struct Product {
  Tensor d, a, b;
  Tensor vector;  ///< contiguous, of d's dtype, aligned to 16 bytes; undefined without bias and row sums
  GemmExtra extra = GemmExtra::none;
  bool accumulate = false;
};

/// False, with nothing of use written, when the tensors do not lie as a BLAS needs them, cuBLASLt has no algorithm, or
/// the product with its extra is better done apart. `apart` does that, into the same tensors; cuda::autotune() compares
/// the two. None for a product without extra.
bool multiply(const Product& product, const std::function<void()>& apart = {});

}  // namespace tandem::cuda
