// new_empty() and its kin: factories with the dtype and the device of a tensor.
#include "tandem/base/op_scope.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

TensorOptions options_like(const Tensor& x, TensorOptions options) {
  if (!options.has_dtype()) options = options.dtype(x.dtype());
  return options.has_device() ? options : options.device(x.device());
}

}  // namespace

Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& options) const {
  const OpScope op("new_empty");
  return empty(sizes, options_like(*this, options));
}
Tensor Tensor::new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) const {
  const OpScope op("new_empty_strided");
  return empty_strided(sizes, strides, options_like(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& options) const {
  const OpScope op("new_zeros");
  return zeros(sizes, options_like(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef sizes, const TensorOptions& options) const {
  const OpScope op("new_ones");
  return ones(sizes, options_like(*this, options));
}
Tensor Tensor::new_full(IntArrayRef sizes, Scalar value, const TensorOptions& options) const {
  const OpScope op("new_full");
  return full(sizes, value, options_like(*this, options));
}

}  // namespace tandem
