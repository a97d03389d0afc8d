#pragma once
// Joins of tensors by rows, columns and depth, grids, and broadcasting of several tensors. dtypes promote as in cat().
// Errors are those of cat(): ShapeError for sizes that do not fit, StateError for an empty list.
#include <string_view>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Other names of cat().
Tensor concat(TensorList tensors, int64_t dim = 0);
Tensor concatenate(TensorList tensors, int64_t dim = 0);
/// cat() along dimension 1, or 0 for tensors of rank 1; numbers (rank 0) count as tensors of one element.
Tensor hstack(TensorList tensors);
/// cat() along dimension 0 of tensors of rank 2 or more, which atleast_2d() makes.
Tensor vstack(TensorList tensors);
Tensor row_stack(TensorList tensors);
/// cat() along dimension 2 of tensors of rank 3 or more, which atleast_3d() makes.
Tensor dstack(TensorList tensors);
/// cat() along dimension 1; tensors of rank 0 and 1 become columns.
Tensor column_stack(TensorList tensors);
/// [rows in all, columns in all], with the tensors (rank at most 2) along the diagonal and 0 elsewhere.
Tensor block_diag(TensorList tensors);

/// Views with rank at least 1, 2 or 3. atleast_2d makes rows; atleast_3d makes [1, n, 1] and [n, m, 1].
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

/// expand() to sizes to which x broadcasts.
Tensor broadcast_to(const Tensor& x, IntArrayRef sizes);
/// Views with the sizes to which all tensors broadcast together.
std::vector<Tensor> broadcast_tensors(TensorList tensors);
/// For tensors of rank 0 or 1 with n0, n1, ... elements: views y_k of [n0, n1, ...], with y_k[i0, i1, ...] = element ik
/// of tensor k. With `indexing` "xy", the first two dimensions of the results are swapped. Throws DTypeError if the
/// dtypes differ.
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij");
/// The Cartesian product of tensors of rank 1: [n0 n1 ..., number of tensors], or the tensor itself if there is one.
Tensor cartesian_prod(TensorList tensors);
/// The combinations of r elements of x, of rank 1, in lexicographic order of their indices: [count, r].
Tensor combinations(const Tensor& x, int64_t r = 2, bool with_replacement = false);

}  // namespace tandem
#pragma GCC visibility pop
