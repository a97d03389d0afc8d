#pragma once
// Views and other changes of geometry, which leave the elements' values unchanged. A dimension out of range throws
// IndexError; sizes that do not fit throw ShapeError.
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns a view of the same elements with other sizes, one of which may be -1. Throws ShapeError if x's strides do
/// not allow it; reshape() copies in that case.
Tensor view(const Tensor& x, IntArrayRef sizes);
/// The same memory as elements of another dtype: [n, m] f32 is [n, m] i32, [n, 2 m] f16 and, if m is even, [n, m / 2]
/// f64. Not differentiable, and no view for autograd. Throws DTypeError for bool on one side, whose elements must be 0
/// or 1; ShapeError unless the last dimension has stride 1 and holds whole elements of the other size.
Tensor view_dtype(const Tensor& x, DType dtype);
/// Returns a view() if possible, also for the same sizes; else a contiguous copy.
Tensor reshape(const Tensor& x, IntArrayRef sizes);
/// Merges the dimensions start_dim to end_dim into one.
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
/// Exchanges two dimensions; a view.
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// Transposes a tensor of rank 2; returns a view of a tensor of rank 0 or 1.
Tensor t(const Tensor& x);
/// Returns a view whose dimension i is dimension dims[i] of x.
Tensor permute(const Tensor& x, IntArrayRef dims);
/// Removes the dimensions of size 1, or those among `dim` or `dims` that have size 1.
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, IntArrayRef dims);
/// Returns a view with a new dimension of size 1 before dimension `dim`.
Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Repeats dimensions of size 1 without using memory (stride 0); -1 keeps a size.
Tensor expand(const Tensor& x, IntArrayRef sizes);
/// Returns the slice at `index` of dimension `dim`, without that dimension.
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Returns `length` entries of dimension `dim`, starting at `start`.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
inline Tensor narrow(const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
  return narrow(x, dim, start.item<int64_t>(), length);
}
/// x[..., start:stop:step, ...] by Python's rules for bounds; step >= 1.
Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
             int64_t step = 1);
/// Returns a view with the given geometry, which may extend beyond `x` within its storage. `offset` is counted from the
/// first element of the storage; by default it is that of `x`, storage_offset(). If several elements of `x` share
/// memory (expand), the gradient of that memory is divided among them. The gradient of memory outside `x` is dropped.
Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset = {});
/// Returns a copy of `x` in which as_strided(sizes, strides, offset) equals `source`.
Tensor as_strided_scatter(const Tensor& x, const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                          std::optional<int64_t> offset = {});
/// Concatenates tensors along `dim`; dtypes promote. Throws ShapeError if the number of entries overflows int64.
Tensor cat(TensorList tensors, int64_t dim = 0);
/// Joins tensors of equal sizes along a new dimension `dim`.
Tensor stack(TensorList tensors, int64_t dim = 0);
/// Splits a tensor along `dim` into at most `chunks` parts, of which the last may be smaller. A dimension of size 0
/// gives `chunks` empty parts. Throws ShapeError for more than 2^24 parts.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);

}  // namespace tandem
#pragma GCC visibility pop
