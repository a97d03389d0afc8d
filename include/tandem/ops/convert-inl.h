#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/stream.h"

namespace tandem {

TANDEM_OPS Tensor to(const Tensor& x, DType dtype, bool copy) {
  const OpScope op("to");
  checks::defined("the input", x);
  return to(x, x.device(), dtype, false, copy);
}

namespace detail {

inline void check_format(const Tensor& x, MemoryFormat format) {
  TANDEM_CHECK(format != MemoryFormat::ChannelsLast || x.dim() == 4, ShapeError,
               "channels-last needs a tensor of rank 4 [N, C, H, W], but this one is {}; use MemoryFormat::Contiguous",
               to_string(x.sizes()));
}

/// Returns true if `x` has this memory format.
inline bool has_format(const Tensor& x, MemoryFormat format) {
  return format == MemoryFormat::Preserve || x.is_contiguous(format);
}

TANDEM_OPS void wait_until_read(const Tensor& source, const Tensor& target) {
  if (target.is_cuda() && source.is_pinned()) current_stream(target.device()).synchronize();
}

}  // namespace detail

TANDEM_OPS Tensor to(const Tensor& x, Device device, DType dtype, bool non_blocking, bool copy, MemoryFormat format) {
  const Op<"to"> op;
  checks::defined("the input", x);
  detail::check_format(x, format);
  const bool same_device = x.device().type() == device.type() && (device.index() < 0 || x.device() == device);
  if (!copy && same_device && x.dtype() == dtype && detail::has_format(x, format)) return x;
  if (device.is_cuda()) accelerator().check_available();
  return op.apply(
      [&](const Tensor& x) {
        Tensor y = empty_like(x, TensorOptions(dtype).device(device).memory_format(format));
        backend(device.is_cuda() ? y : x).copy(y, x);
        if (!non_blocking) detail::wait_until_read(x, y);
        return Result{y, {}, [device = x.device(), dtype = x.dtype()](const Backward& b) -> Grads {
                        // Converts directly to the input's dtype, even if b.wanted() is another low-precision dtype.
                        return {to(b.grad(), device, dtype)};
                      }};
      },
      x);
}

TANDEM_OPS Tensor clone(const Tensor& x, MemoryFormat format) {
  const Op<"clone"> op;
  checks::defined("the input", x);
  detail::check_format(x, format);
  return op.apply(
      [format](const Tensor& x) {
        Tensor y = empty_like(x, format);
        backend(x).copy(y, x);
        return Result{y, {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
      },
      x);
}

TANDEM_OPS Tensor contiguous(const Tensor& x, MemoryFormat format) {
  const Op<"contiguous"> op;
  checks::defined("the input", x);
  detail::check_format(x, format);
  if (detail::has_format(x, format)) return x;
  return op.apply(
      [format](const Tensor& x) {
        Tensor y = empty(x.sizes(), x.options().memory_format(format));
        backend(x).copy(y, x);
        return Result{y, {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
      },
      x);
}

}  // namespace tandem
