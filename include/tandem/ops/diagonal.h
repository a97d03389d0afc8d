#pragma once
// Diagonals and triangles of matrices: the last two dimensions, or dim1 and dim2. `diagonal` or `offset` k names the
// elements [i, i + k]: above the main diagonal if positive. Dimensions out of range throw IndexError.
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// x on and below (tril) or on and above (triu) a diagonal, 0 elsewhere, also where x is NaN. x: [..., n, m].
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// The indices of those elements of an [n, m] matrix, in row-major order: [2, count], rows first. i64 unless the
/// options say otherwise.
Tensor tril_indices(int64_t n, int64_t m, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t n, int64_t m, int64_t offset = 0, const TensorOptions& options = kLong);

/// A view of a diagonal: x's sizes without dim1 and dim2, then the diagonal's length.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// The reverse: zeros with the last dimension of x as a diagonal of the new dimensions dim1 and dim2.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// diag_embed() of a tensor of rank 1, a copy of the diagonal of one of rank 2. Throws ShapeError for another rank.
Tensor diag(const Tensor& x, int64_t diagonal = 0);
/// diag_embed() of the flattened x.
Tensor diagflat(const Tensor& x, int64_t offset = 0);
/// A copy of x with a diagonal replaced by src, which must have the sizes of diagonal(x, offset, dim1, dim2).
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// The sum of the diagonal of a matrix, held in f32 or wider; integers give i64. Throws ShapeError for another rank.
Tensor trace(const Tensor& x);

}  // namespace tandem
#pragma GCC visibility pop
