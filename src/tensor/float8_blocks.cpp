#include "src/tensor/float8_blocks.h"

#include <algorithm>

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
  const Tensor values = empty(codes.sizes(), TensorOptions(kFloat).device(kCPU));
  values.copy_(x);
  const Tensor host_codes = empty(codes.sizes(), TensorOptions(codes.dtype()).device(kCPU));
  const Tensor host_inverse = empty(inverse.sizes(), TensorOptions(kFloat).device(kCPU));
  const float* const from = values.raw<float>();
  auto* const to = static_cast<uint8_t*>(host_codes.raw_bytes());
  for (int64_t begin = 0; begin < values.numel(); begin += math::kStateBlock) {
    const int64_t end = std::min(begin + math::kStateBlock, values.numel());
    uint32_t largest = 0;
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, math::finite_magnitude(from[i]));
    const math::Float8Scale scale = math::state_scale(math::bits_as<float>(largest));
    host_inverse.raw<float>()[begin / math::kStateBlock] = scale.inverse;
    for (int64_t i = begin; i < end; ++i) to[i] = E4m3fn::round(from[i] * scale.scale, Float8Overflow::overflow);
  }
  codes.copy_(host_codes);
  inverse.copy_(host_inverse);
}

}  // namespace tandem::detail
