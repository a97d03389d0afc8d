#pragma once
// Copies and conversions. f32 to f16 and bf16 rounds to nearest even; from 65520 on f16 becomes inf.
#include <optional>

#include "tandem/tensor/tensor.h"

namespace tandem {

/// `x` in `dtype`; `x` itself when it has it already and `copy` is false.
Tensor to(const Tensor& x, DType dtype, bool copy = false);
/// `x` on `device` and in `dtype`.
Tensor to(const Tensor& x, Device device, DType dtype, bool non_blocking = false, bool copy = false);
/// A copy with its own memory, strides preserved.
Tensor clone(const Tensor& x);
/// `x` itself when it has this memory format, else a copy.
Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::Contiguous);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/convert-inl.h"
#endif
