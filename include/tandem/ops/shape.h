#pragma once
// Views and other geometry: no element changes. A dimension out of range: IndexError; sizes that do not fit:
// ShapeError.
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem {

/// Same elements under other sizes, sharing memory; one size may be -1. Throws ShapeError when the strides do not allow
/// it: then reshape() copies.
Tensor view(const Tensor& x, IntArrayRef sizes);
/// view() where possible, also to the same sizes; else a contiguous copy.
Tensor reshape(const Tensor& x, IntArrayRef sizes);
/// Dimensions start_dim to end_dim become one.
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// Rank 2 transposed; of ranks 0 and 1 a view.
Tensor t(const Tensor& x);
Tensor permute(const Tensor& x, IntArrayRef dims);
/// Drops the dimensions of size 1, or dimension `dim` if it has size 1.
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Repeats dimensions of size 1 without memory (stride 0); -1 keeps a size.
Tensor expand(const Tensor& x, IntArrayRef sizes);
/// Drops dimension `dim` at `index`.
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// `length` entries of dimension `dim` from `start`.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// x[..., start:stop:step, ...] by Python's rules for bounds; step >= 1.
Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
             int64_t step = 1);
/// A view with given geometry, which may reach beyond `x` in its storage; offset relative to the first element of `x`.
/// The gradient of memory that `x` shows several times (expand) is split among its elements; that of memory outside of
/// `x` is dropped.
Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset = 0);
/// A copy of `x` whose as_strided(sizes, strides, offset) is `source`.
Tensor as_strided_scatter(const Tensor& x, const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                          int64_t offset = 0);
/// The tensors one after another along `dim`; dtypes promote. Throws ShapeError when an int64 cannot count the entries.
Tensor cat(TensorList tensors, int64_t dim = 0);
/// The tensors, of equal sizes, along a new dimension `dim`.
Tensor stack(TensorList tensors, int64_t dim = 0);
/// Splits into at most `chunks` parts along `dim`, the last one perhaps smaller; a dimension of size 0 into `chunks`
/// empty ones. Throws ShapeError for more than 2^24 parts.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/shape-inl.h"
#endif
