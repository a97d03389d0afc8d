#pragma once
// Selecting and overwriting the elements for which a bool mask is true. Mask and tensor broadcast against each other.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// value where `mask` (bool) is true, else x, in x's dtype. Throws DTypeError for a mask that is not bool, and for a
/// number that x's dtype cannot hold.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);
/// The same with the value in a tensor of rank 0, which can get a gradient.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
/// Returns the elements of x where `mask` is true, in row-major order; rank 1. On CUDA it waits for the device, which
/// counts the elements.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// Returns x with the elements where `mask` is true replaced by the first elements of `source`, in row-major order.
/// Throws ShapeError if the source has too few, DTypeError if its dtype is not x's. On CUDA it waits for the device.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

/// In-place forms; return self. The mask must broadcast to self. apply_in_place says which calls throw.
const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, Scalar value);
const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Tensor& value);
const Tensor& masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source);

}  // namespace tandem
#pragma GCC visibility pop
