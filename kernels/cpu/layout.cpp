#include "kernels/cpu/layout.h"

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/onednn.h"

namespace tandem::cpu {

void convert(const Tensor& dst, const Tensor& src) {
  if (dst.dtype() == src.dtype() && is_dense(dst) && is_dense(src) &&
      onednn::reorder(onednn::array_of(dst), onednn::array_of(src))) {
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

}  // namespace tandem::cpu
