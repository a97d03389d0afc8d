#pragma once
// Gathering and adding by index. Indices are i64 or i32 and not negative. On the CPU, an index out of range throws
// IndexError.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y[i..] = weight[indices[i..]]; weight: [V, D], indices: any sizes, y: the sizes of indices, then D. Row
/// `padding_idx` gets no gradient; -1 means no such row. With scale_grad_by_freq, the gradient of a row is divided by
/// the number of indices that name it. `sparse` has no effect: gradients are dense. Source:
/// torch.nn.functional.embedding.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false,
                 bool sparse = false);
/// Scales the rows of weight that `indices` names to a norm of order norm_type of at most max_norm, in place and
/// without a history. Returns weight. Source: torch.embedding_renorm_.
const Tensor& embedding_renorm_(const Tensor& weight, const Tensor& indices, Scalar max_norm, Scalar norm_type);

/// y[i, j, k] = x[i, index[i, j, k], k] for dim = 1. `index` has x's rank and, except in `dim`, sizes of at most x's,
/// else ShapeError is thrown. The result has the sizes of `index`. `sparse_grad` has no effect: gradients are dense.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, bool sparse_grad = false);
/// Returns x with src[i, j, k] added at [i, index[i, j, k], k], for dim = 1; the reverse of gather. The sizes of
/// `index` are at most src's and, except in `dim`, at most x's. Sums are held in f32 (f64 for f64). Throws DTypeError
/// if the dtypes of x and src differ (autocast promotes them).
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

/// Returns the slices of x along `dim` that `index` names, in its order. `index` has rank 1 or 0.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// Returns x with alpha times slice j of src along `dim` added to slice index[j]. src has x's sizes except in `dim`.
/// Sums are held in f32 (f64 for f64). Throws DTypeError if the dtypes of x and src differ.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha = 1);

// ---- derivatives: scatter_add and index_add to zeros of `sizes`, the sizes of x
Tensor gather_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index);

/// In-place scatter_add and index_add; return self. apply_in_place says which calls throw.
const Tensor& scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha = 1);

}  // namespace tandem
#pragma GCC visibility pop
