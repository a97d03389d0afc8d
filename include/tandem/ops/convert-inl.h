#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

TANDEM_OPS Tensor to(const Tensor& x, DType dtype, bool copy) {
  checks::defined("to", "the input", x);
  return to(x, x.device(), dtype, false, copy);
}

TANDEM_OPS Tensor to(const Tensor& x, Device device, DType dtype, bool, bool copy) {
  checks::defined("to", "the input", x);
  const bool same_device = x.device().type() == device.type() && (device.index() < 0 || x.device() == device);
  if (!copy && same_device && x.dtype() == dtype) return x;
  TANDEM_CHECK(device.is_cpu() || cuda::is_available(), DeviceError,
               "to: no CUDA device is available; check cuda::is_available() first");
  return apply<"to">(
      [&](const Tensor& x) {
        Tensor y = empty_like(x, TensorOptions(dtype).device(device));
        backend(device.is_cuda() ? y : x).copy(y, x);
        return Result{y, {}, [device = x.device(), dtype = x.dtype()](const Backward& b) -> Grads {
                        // Straight to the dtype of the input, also when b.wanted() says another low dtype.
                        return {to(b.grad(), device, dtype)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor clone(const Tensor& x) {
  checks::defined("clone", "the input", x);
  return apply<"clone">(
      [](const Tensor& x) {
        Tensor y = empty_like(x);
        backend(x).copy(y, x);
        return Result{y, {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
      },
      x);
}

TANDEM_OPS Tensor contiguous(const Tensor& x, MemoryFormat format) {
  checks::defined("contiguous", "the input", x);
  TANDEM_CHECK(format != MemoryFormat::ChannelsLast || x.dim() == 4, ShapeError,
               "contiguous: channels-last needs rank 4, this tensor is {}", to_string(x.sizes()));
  if (format == MemoryFormat::Preserve || x.is_contiguous(format)) return x;
  return apply<"contiguous">(
      [format](const Tensor& x) {
        Tensor y = empty(x.sizes(), x.options().memory_format(format));
        backend(x).copy(y, x);
        return Result{y, {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
      },
      x);
}

}  // namespace tandem
