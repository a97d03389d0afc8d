#pragma once
// Conversions between contiguous and channels-last tensors, for kernels that are much faster on the latter.
#include "kernels/image_layout.h"

namespace tandem::cpu {

/// Dense in the order N, H, W, C or N, D, H, W, C; strides of size-1 dimensions are ignored.
inline bool is_channels_last(const Tensor& x) { return x.dim() >= 4 && kernels::has_layout(x, true); }
inline bool is_dense(const Tensor& x) { return x.is_contiguous() || is_channels_last(x); }

/// dst = src, of equal sizes, by oneDNN's reorder if it has a fast one, else by copy.
void convert(const Tensor& dst, const Tensor& src);
/// An uninitialised channels-last tensor with the sizes of `x`.
Tensor new_channels_last(const Tensor& x, DType dtype);
/// `x` itself if it is channels-last of `dtype` already, else a converted copy.
Tensor channels_last(const Tensor& x, DType dtype);
/// The same for a contiguous tensor; undefined if `x` is.
Tensor contiguous(const Tensor& x, DType dtype);

/// The tensor to write a result of `dtype` into: y itself, or a temporary for deliver().
Tensor channels_last_result(const Tensor& y, DType dtype);
/// Converts `result` to y, unless they are the same tensor or y is undefined.
void deliver(const Tensor& y, const Tensor& result);

}  // namespace tandem::cpu
