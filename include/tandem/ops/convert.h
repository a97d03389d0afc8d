#pragma once
// Copies and conversions. f32 to f16 or bf16 rounds to nearest even; f16 becomes inf from 65520 on.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Converts `x` to `dtype`. Returns `x` itself if it already has this dtype and `copy` is false.
Tensor to(const Tensor& x, DType dtype, bool copy = false);
/// Copies `x` to `device`, in `dtype` and, unless it is Preserve, in memory format `format`. Returns `x` itself if
/// nothing changes and `copy` is false. With `non_blocking`, a copy from page-locked memory to a CUDA device is
/// asynchronous to the host: do not write `x` before it is done. In all other cases, the call returns only when `x` has
/// been read. Throws ShapeError for ChannelsLast with a rank other than 4.
Tensor to(const Tensor& x, Device device, DType dtype, bool non_blocking = false, bool copy = false,
          MemoryFormat format = MemoryFormat::Preserve);
/// Returns a copy with its own memory. Preserve keeps the strides of a dense tensor. Throws ShapeError for ChannelsLast
/// with a rank other than 4.
Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);
/// Returns `x` itself if it has this memory format, else a copy in that format.
Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous);

namespace detail {
/// Waits for a copy of `source` to `target` if it is from page-locked memory to a CUDA device: the device may still
/// read `source` when the call that started the copy has returned.
void wait_until_read(const Tensor& source, const Tensor& target);
}  // namespace detail

}  // namespace tandem
#pragma GCC visibility pop
