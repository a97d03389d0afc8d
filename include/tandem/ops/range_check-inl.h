#pragma once
// The check of probabilities, rates and weights, and of results that may be beyond the range of f32. Internal.
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/reduce.h"

namespace tandem::detail {

/// Throws StateError if an element of a CPU tensor is below `low`, above `high` or NaN. The message ends with `cure`.
inline void check_range(const char* which, const Tensor& x, double low, double high, const char* cure = "") {
  if (!x.is_cpu() || x.numel() == 0) return;
  const NoGradGuard no_grad;
  const double least = to(min(x), kDouble).item<double>(), most = to(max(x), kDouble).item<double>();
  TANDEM_CHECK(least >= low && most <= high, StateError, "{} has elements from {} to {}; they must be in [{}, {}]{}",
               which, least, most, low, high, cure);
}

/// compute(dtype); if that is not finite, compute(f64) rounded to the same dtype, because terms may be beyond the range
/// of f32 although their mean is not. Only the CPU looks; a device would have to wait for the result.
template <class Compute>
Tensor in_f64_unless_finite(DType dtype, Compute compute) {
  const Tensor y = compute(dtype);
  if (!y.is_cpu() || dtype == kDouble) return y;
  const auto total = [&] {
    const NoGradGuard no_grad;
    return (y.numel() == 1 ? y : sum(y, kDouble)).item<double>();
  };
  return std::isfinite(total()) ? y : to(compute(kDouble), y.dtype());
}

}  // namespace tandem::detail
