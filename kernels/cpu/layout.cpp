#include "kernels/cpu/layout.h"

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/products.h"

namespace tandem::cpu {

void convert(const Tensor& dst, const Tensor& src) {
  if (dst.dtype() == src.dtype() && is_dense(dst) && is_dense(src) &&
      products::reorder(products::array_of(dst), products::array_of(src))) {
    return;
  }
  copy(dst, src);
}

Tensor new_channels_last(const Tensor& x, DType dtype) {
  return kernels::empty_in_layout(x.sizes(), x.options().dtype(dtype), true);
}

Tensor channels_last(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype && is_channels_last(x)) return x;
  const Tensor converted = new_channels_last(x, dtype);
  convert(converted, x);
  return converted;
}

Tensor contiguous(const Tensor& x, DType dtype) {
  if (!x.defined() || (x.dtype() == dtype && x.is_contiguous())) return x;
  const Tensor converted = kernels::empty_in_layout(x.sizes(), x.options().dtype(dtype), false);
  convert(converted, x);
  return converted;
}

Tensor channels_last_result(const Tensor& y, DType dtype) {
  return y.dtype() == dtype && is_channels_last(y) ? y : new_channels_last(y, dtype);
}

void deliver(const Tensor& y, const Tensor& result) {
  if (y.defined() && !y.is_same(result)) convert(y, result);
}

}  // namespace tandem::cpu
