#pragma once
// Copies and conversions. f32 to f16 and bf16 rounds to nearest even; from 65520 on f16 becomes inf.
#include <optional>

#include "tandem/tensor/tensor.h"

namespace tandem {

/// `x` in `dtype`; `x` itself when it has it already and `copy` is false.
Tensor to(const Tensor& x, DType dtype, bool copy = false);
/// `x` on `device`, in `dtype` and, unless that is Preserve, in this memory format; `x` itself when nothing is to do
/// and `copy` is false. With `non_blocking`, a copy from page-locked memory to a CUDA device runs beside the host's
/// work: `x` must not be written before it is done. All others are waited for as far as `x` goes. Throws ShapeError for
/// ChannelsLast of another rank than 4.
Tensor to(const Tensor& x, Device device, DType dtype, bool non_blocking = false, bool copy = false,
          MemoryFormat format = MemoryFormat::Preserve);
/// A copy with its own memory. Preserve keeps the strides of a dense tensor. Throws ShapeError for ChannelsLast of
/// another rank than 4.
Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);
/// `x` itself when it has this memory format, else a copy.
Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous);

namespace detail {
/// Waits for a copy of `source` to `target` if it comes from page-locked memory, which the device still reads when the
/// call that began the copy has returned.
void wait_until_read(const Tensor& source, const Tensor& target);
}  // namespace detail

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/convert-inl.h"
#endif
