#pragma once
// The triangles of tril and triu. Internal.
#include <algorithm>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// The offset of a diagonal within [-n, m], beyond which nothing changes.
inline int64_t clamped_offset(int64_t k, int64_t n, int64_t m) { return std::clamp<int64_t>(k, -n, m); }

/// A mask of [n, m], expanded to `sizes`: true where j - i <= k, or j - i >= k if not `lower`. An element depends on
/// j - i only, so n + m - 1 numbers suffice: the strides are -1 and 1.
inline Tensor triangle(IntArrayRef sizes, int64_t k, bool lower, Device device) {
  const size_t rank = sizes.size();
  const int64_t n = sizes[rank - 2], m = sizes[rank - 1], count = n + m - 1;
  const Tensor mask = empty({count}, TensorOptions(kBool).device(device));  // entry n - 1 + j - i
  const int64_t first = std::clamp<int64_t>(clamped_offset(k, n, m) + n - 1 + (lower ? 1 : 0), 0, count);
  if (first > 0) backend(mask).fill(make_view(mask, {first}, {1}, 0), lower);
  if (first < count) backend(mask).fill(make_view(mask, {count - first}, {1}, first), !lower);
  Dims strides(rank, 0);
  strides[rank - 2] = -1;
  strides[rank - 1] = 1;
  return make_view(mask, sizes, strides, n - 1);
}

/// y = x inside the triangle, 0 elsewhere. y may be x.
inline void keep_triangle(const Tensor& y, const Tensor& x, int64_t k, bool lower) {
  if (y.numel() == 0) return;
  const Tensor zero = zeros({}, TensorOptions(x.dtype()).device(kCPU));
  backend(y).where(y, triangle(y.sizes(), k, lower, y.device()), x, broadcast_view(zero, y.sizes()));
}

inline void check_matrices(const Tensor& x) {
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must have rank 2 or more; unsqueeze() it", checks::show(x));
}

}  // namespace tandem::detail
