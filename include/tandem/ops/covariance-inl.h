#pragma once
#include <algorithm>
#include <cmath>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/covariance.h"
#include "tandem/ops/diagonal.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm.h"
#include "tandem/ops/vector_norm_forms-inl.h"

namespace tandem {

namespace detail {

/// x as [variables, observations].
inline Tensor observations(const Tensor& x) {
  checks::defined("x", x);
  checks::not_bool(x);
  TANDEM_CHECK(x.dim() <= 2, ShapeError, "x is {}, but must have at most rank 2: variables, observations",
               checks::show(x));
  return x.dim() < 2 ? reshape(x, {1, x.numel()}) : x;
}

inline void check_weights(const char* name, const Tensor& weights, const Tensor& x, int64_t observations) {
  check_devices({&x, &weights});
  TANDEM_CHECK(weights.dim() <= 1 && weights.numel() == observations, ShapeError,
               "{} is {}, but must be [{}], one weight for each observation of x, which is {}", name,
               checks::show(weights), observations, checks::show(x));
  check_range(name, weights, 0, INFINITY);
}

}  // namespace detail

TANDEM_OPS Tensor cov(const Tensor& x, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  const OpScope op("cov");
  const amp::AutocastOff no_autocast;
  if (x.defined() && is_reduced_floating_point(x.dtype())) {  // sums of products may be beyond the range of f16
    const Tensor y = cov(to(x, kFloat), correction, fweights, aweights);
    return to(y, aweights.defined() ? result_type(x, aweights) : x.dtype());
  }
  Tensor rows = detail::observations(x);
  const int64_t n = rows.size(1);
  if (fweights.defined()) {
    TANDEM_CHECK(is_integral(fweights.dtype(), false), DTypeError,
                 "fweights is {}, but must have an integer dtype; give other weights as aweights",
                 checks::show(fweights));
    detail::check_weights("fweights", fweights, x, n);
  }
  if (aweights.defined()) {
    checks::floating("aweights", aweights);
    detail::check_weights("aweights", aweights, x, n);
  }
  Tensor w = fweights;
  if (aweights.defined()) w = w.defined() ? mul(w, aweights) : aweights;
  const DType floating = x.is_floating_point() ? x.dtype() : get_default_dtype();
  rows = to(rows, aweights.defined() ? promote_types(floating, w.dtype()) : floating);
  Tensor total, divisor;
  if (w.defined()) {
    total = sum(w);
    TANDEM_CHECK(n == 0 || !total.is_cpu() || total.item<double>() > 0, StateError,
                 "the weights of all observations are 0; at least one must be positive");
    const Tensor reduction = aweights.defined() && correction != 0 ? div(sum(mul(w, aweights)), total) : Tensor();
    divisor = clamp(reduction.defined() ? sub(total, mul(reduction, correction)) : sub(total, correction), 0);
  }
  // Sums and products may be beyond the range of f32, unlike the covariances.
  const Tensor sums = sum(w.defined() ? mul(to(rows, kDouble), w) : rows, {1}, true, kDouble);
  const Tensor centred = sub(rows, to(w.defined() ? div(sums, total) : div(sums, n), rows.dtype()));
  const Tensor unit = detail::range_unit(centred, {1}, 0), u = detail::in_units(centred, unit);
  const Tensor products = matmul(u, t(w.defined() ? mul(u, w) : u));
  const double freedom = std::max(static_cast<double>(n) - static_cast<double>(correction), 0.0);
  const Tensor c = divisor.defined() ? div(products, divisor) : div(products, freedom);
  return squeeze(mul(mul(c, unit), t(unit)));
}

TANDEM_OPS Tensor corrcoef(const Tensor& x) {
  const OpScope op("corrcoef");
  const amp::AutocastOff no_autocast;
  if (x.defined() && is_reduced_floating_point(x.dtype())) return to(corrcoef(to(x, kFloat)), x.dtype());
  Tensor rows = detail::observations(x);
  if (rows.size(1) == 0) {
    const Tensor c = cov(x);
    return div(c, c);
  }
  if (rows.is_floating_point()) rows = detail::in_units(rows, detail::range_unit(rows, {1}, 0x1p-60));
  const Tensor centred = sub(rows, div(sum(rows, {1}, true), rows.size(1)));
  // Not from cov(x), which may be beyond the range of the dtype.
  const Tensor unit = div(centred, linalg_vector_norm(centred, 2, {1}, true));
  return squeeze(clamp(matmul(unit, t(unit)), -1, 1));
}

}  // namespace tandem
