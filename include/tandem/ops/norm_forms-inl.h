#pragma once
// What the normalisation layers share: views for the kernels, and derivatives in differentiable ops.
#include <array>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm_forms-inl.h"

namespace tandem {

namespace detail {

/// Checks that x ends in the sizes `shape`. Returns the number of dimensions before them.
inline size_t leading_dimensions(const Tensor& x, IntArrayRef shape) {
  checks::floating("x", x);
  const size_t rank = x.sizes().size();
  TANDEM_CHECK(!shape.empty(), ShapeError, "normalized_shape is empty; give the last dimensions of x {}",
               checks::show(x));
  TANDEM_CHECK(shape.size() <= rank && x.sizes().slice(rank - shape.size(), shape.size()) == shape, ShapeError,
               "normalized_shape is {}, but x is {}; x must end in these sizes", to_string(shape), checks::show(x));
  return rank - shape.size();
}

/// Returns a dense tensor as a [rows, n] view without history.
inline Tensor as_rows(const Tensor& x, int64_t rows, int64_t n) {
  return x.defined() ? make_view(x, {rows, n}, {n, 1}, x.storage_offset()) : x;
}
inline Tensor as_vector(const Tensor& x) {
  if (!x.defined()) return x;
  const Tensor flat = contiguous(x);
  return make_view(flat, {flat.numel()}, {1}, flat.storage_offset());
}

/// Converts x to the dtype of sums, for a formula written in ops.
inline Tensor widened(const Tensor& x) { return to(x, checks::sum_dtype(x.dtype())); }

/// The derivative of normalisation, in differentiable ops.
/// xhat and rstd broadcast over x; `over`: the normalised dimensions, empty if the statistics are constants;
/// weight: undefined or of `parameter_sizes`, which broadcast to x's sizes.
inline std::array<Tensor, 3> normalize_backward_in_ops(const Tensor& gy, const Tensor& xhat, const Tensor& rstd,
                                                       const Dims& over, const Tensor& weight,
                                                       const Dims& parameter_sizes, std::array<bool, 3> output_mask) {
  std::array<Tensor, 3> grads;
  if (output_mask[0]) {
    Tensor g = weight.defined() ? mul(gy, weight) : gy;
    if (!over.empty()) g = sub(sub(g, mean(g, over, true)), mul(xhat, mean(mul(g, xhat), over, true)));
    grads[0] = mul(g, rstd);
  }
  if (output_mask[1]) grads[1] = sum_to_size(mul(gy, xhat), parameter_sizes);
  if (output_mask[2]) grads[2] = sum_to_size(gy, parameter_sizes);
  return grads;
}

/// Checks the sizes of saved statistics, and that they have the dtype of sums, as the kernels of the derivatives need.
inline void check_statistics(const Tensor& x, IntArrayRef sizes, const Tensor& mean, const Tensor& rstd) {
  for (const auto& [which, t] : {std::pair<const char*, const Tensor&>{"mean", mean}, {"rstd", rstd}}) {
    checks::defined(which, t);
    checks::sizes(which, t, sizes);
    TANDEM_CHECK(t.dtype() == checks::sum_dtype(x.dtype()), DTypeError,
                 "{} is {}, but the statistics of x {} must be {}; convert with .to()", which, checks::show(t),
                 checks::show(x), tandem::name(checks::sum_dtype(x.dtype())));
  }
}

/// The normalised x and 1 / sqrt(var + eps) over dimensions, in differentiable ops. `centres`: the mean is subtracted.
struct Normalized {
  Normalized(const Tensor& x, const Dims& over, double eps, bool centres = true) {
    const Tensor unit = range_unit(x, over, eps > 0 ? 0 : 0x1p-40), v = div(x, unit);
    const Tensor centred = centres ? sub(v, mean(v, over, true)) : v;
    const Tensor least = div(mul(reciprocal(unit), eps), unit);
    const Tensor scale = rsqrt(add(mean(square(centred), over, true), least));
    rstd = div(scale, unit);
    xhat = mul(centred, scale);
  }
  Tensor xhat, rstd;
};

/// Returns [1, C, 1, ...], the sizes in which a per-channel tensor broadcasts over x.
inline Dims channel_sizes(const Tensor& x) {
  Dims sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = x.size(1);
  return sizes;
}

}  // namespace detail

}  // namespace tandem
