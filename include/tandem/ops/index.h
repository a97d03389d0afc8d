#pragma once
// Picking and adding by index. Indices are i64 (or i32) and not negative; on the CPU one out of range throws
// IndexError.
#include "tandem/tensor/tensor.h"

namespace tandem {

/// y[i..] = weight[indices[i..]]; weight: [V, D], indices: any sizes, y: indices' sizes and D. Row `padding_idx`
/// gets no gradient; -1: there is none. Source: torch.nn.functional.embedding.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1);

/// y[i, j, k] = x[i, index[i, j, k], k] for dim = 1. `index` has x's rank and, outside `dim`, sizes at most x's; the
/// result has index's sizes. Throws ShapeError for others.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// x with, for dim = 1, src[i, j, k] added at [i, index[i, j, k], k]: gather's reverse. index's sizes are at most src's
/// and, outside `dim`, x's. Sums in f32, for f64 in f64. Throws DTypeError when x and src differ (under autocast they
/// are promoted).
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

/// The slices of x along `dim` in index's order; index has rank 1 (or 0).
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// x with alpha times slice j of src along `dim` added to slice index[j]. src has x's sizes outside `dim`. Sums in f32,
/// for f64 in f64. Throws DTypeError when x and src differ.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha = 1);

// ---- derivatives: the same into zeros of `sizes`, which are those of gather's and index_select's x
Tensor gather_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index);

/// scatter_add and index_add in self's memory; returns self. See apply_in_place for what is refused.
const Tensor& scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha = 1);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/index-inl.h"
#endif
