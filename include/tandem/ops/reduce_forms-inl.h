#pragma once
// Shapes and outputs of reductions.
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The sizes of a reduction's result.
struct ReducedShape {
  Dims kept;          ///< x's sizes, with 1 for the reduced dimensions
  Dims result;        ///< the result's sizes: `kept`, or `kept` without the reduced dimensions
  int64_t count = 1;  ///< number of elements reduced to each result
};

inline ReducedShape reduced_shape(const Tensor& x, IntArrayRef dims, bool keepdim) {
  checks::defined("the input", x);
  bool reduced[kMaxRank] = {};
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, x.dim());
    TANDEM_CHECK(!reduced[w], IndexError, "dimension {} appears twice in {}", w, to_string(dims));
    reduced[w] = true;
  }
  ReducedShape shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    const bool drop = dims.empty() || reduced[d];
    if (drop) shape.count *= x.size(d);
    shape.kept.push_back(drop ? 1 : x.size(d));
    if (!drop || keepdim) shape.result.push_back(shape.kept.back());
  }
  return shape;
}

/// Returns a contiguous view of `y` with other sizes, without history.
inline Tensor with_sizes(const Tensor& y, const Dims& sizes) {
  return make_view(y, sizes, contiguous_strides(sizes), y.storage_offset());
}

/// A new tensor for a reduction's result, and a view of it with x's rank for the kernel.
struct ReductionOutput {
  Tensor result, kept;
  ReductionOutput(const ReducedShape& shape, const TensorOptions& options)
      : result(empty(shape.result, options)), kept(with_sizes(result, shape.kept)) {}
};

/// Expands the result's gradient to x's sizes.
inline Tensor spread(const Tensor& g, const Dims& kept, const Dims& sizes) {
  return expand(with_shape(g, kept), sizes);
}

inline void check_floating(const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), DTypeError,
               "needs a floating dtype, but the input is {}; convert with .to(kFloat)", checks::show(x));
}

}  // namespace detail

}  // namespace tandem
