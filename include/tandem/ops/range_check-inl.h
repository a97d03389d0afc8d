#pragma once
// The check of probabilities, rates and weights. Internal.
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

}  // namespace tandem::detail
