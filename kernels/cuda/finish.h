#pragma once
// Separate passes for bias and activation after a product, if the library cannot fuse them.
#include "kernels/cuda/kernels.h"
#include "tandem/math/binary.h"

namespace tandem::cuda {

/// d = activation(product + bias), in passes of which the last one writes d. The optional bias has d's sizes (strides
/// of 0 where it repeats). product may be d, and is overwritten.
inline void finish(const Tensor& d, const Tensor& product, const Tensor& bias, Activation activation) {
  const bool relu = activation == Activation::relu;
  const Tensor& sum = !bias.defined() || relu ? product : d;
  if (bias.defined()) binary(sum, Binary::add, product, bias, 1);
  if (relu) {
    unary(d, Unary::relu, sum, 0, 0);
  } else if (!sum.is_same(d)) {
    copy(d, sum);
  }
}

}  // namespace tandem::cuda
