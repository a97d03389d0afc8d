#include "src/tensor/float8_blocks.h"

#include "tandem/backend.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {
namespace {

/// A contiguous tensor as one row.
Tensor as_row(const Tensor& x) {
  auto row = std::make_shared<TensorImpl>();
  row->storage = x.impl().storage;
  row->offset = x.impl().offset;
  row->dtype = x.dtype();
  row->sizes = {x.numel()};
  row->strides = {1};
  row->refresh();
  return Tensor(std::move(row));
}

Float8Scales scales_of(const Tensor& inverse) {
  return {.inverse = inverse, .rows = 1, .columns = math::kStateBlock, .power_of_two = true};
}

}  // namespace

Tensor widen_float8_blocks(const Tensor& codes, const Tensor& inverse) {
  const Tensor x = empty_like(codes, kFloat);
  if (x.numel() > 0) backend(x).dequantize_float8(as_row(x), as_row(codes), scales_of(inverse));
  return x;
}

void round_to_float8_blocks(const Tensor& codes, const Tensor& inverse, const Tensor& x) {
  if (codes.numel() == 0) return;
  const Tensor values = empty(codes.sizes(), codes.options().dtype(kFloat));
  values.copy_(x);
  backend(codes).quantize_float8({.codes = as_row(codes), .scales = scales_of(inverse), .x = as_row(values)});
}

}  // namespace tandem::detail
