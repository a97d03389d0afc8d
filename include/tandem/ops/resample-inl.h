#pragma once
// Linear maps along single dimensions, one kernel call each: the form of interpolation and average pooling.
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/math/resample.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// A dimension and how it is resampled.
struct Axis {
  int64_t dim;
  math::Resampling map;
};

/// Resamples the axes one after another, or applies the transposed maps in the reverse order. Intermediate results are
/// f32 (f64 for f64). Without history.
inline Tensor run_axes(const Tensor& x, const std::vector<Axis>& axes, bool transposed, DType dtype) {
  Tensor y = checks::dense(x);
  const MemoryFormat format = checks::layout(y);
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& axis = axes[transposed ? axes.size() - 1 - k : k];
    Dims sizes = y.impl().sizes;
    sizes[static_cast<size_t>(axis.dim)] = transposed ? axis.map.in : axis.map.out;
    const bool last = k + 1 == axes.size();
    const Tensor next =
        empty(sizes, x.options().dtype(last ? dtype : checks::sum_dtype(x.dtype())).memory_format(format));
    if (next.numel() > 0) backend(x).resample(next, y, axis.dim, axis.map, transposed);
    y = next;
  }
  return y;
}

/// The derivative of resample_op, and its own with the opposite `transposed`.
inline Tensor resample_transposed(const Tensor& x, const std::vector<Axis>& axes, bool transposed, DType dtype) {
  return Op<"resample_backward">().apply(
      [&](const Tensor& x) {
        return Result{run_axes(x, axes, transposed, dtype), {}, [axes, transposed](const Backward& b) -> Grads {
                        return {resample_transposed(b.grad(), axes, !transposed, b.wanted(0))};
                      }};
      },
      x);
}

/// y = x, resampled along the axes.
template <FixedString Name>
Tensor resample_op(const Op<Name>& op, const Tensor& x, const std::vector<Axis>& axes) {
  return op.apply(
      [&](const Tensor& x) {
        return Result{run_axes(x, axes, false, x.dtype()), {}, [axes](const Backward& b) -> Grads {
                        return {resample_transposed(b.grad(), axes, true, b.wanted(0))};
                      }};
      },
      x);
}

}  // namespace tandem::detail
