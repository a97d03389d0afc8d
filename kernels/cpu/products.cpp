#include "kernels/cpu/products.h"

namespace tandem::cpu::products {

Array array_of(const Tensor& x) {
  Array array;
  if (!x.defined()) return array;
  array.data = x.raw_bytes();
  array.dtype = x.dtype();
  array.rank = static_cast<int>(x.dim());
  const IntArrayRef sizes = x.sizes(), strides = x.strides();
  for (size_t d = sizes.size(); d-- > 0;) {
    array.sizes[d] = sizes[d];
    const bool last = d + 1 == sizes.size();
    array.strides[d] = sizes[d] != 1 ? strides[d] : last ? 1 : array.strides[d + 1] * array.sizes[d + 1];
  }
  return array;
}

}  // namespace tandem::cpu::products
