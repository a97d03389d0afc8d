#pragma once
// Checks that pooling ops of any number of dimensions share.
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::detail {

/// Checks an input whose last n dimensions are pooled.
inline void check_pooled(const Tensor& x, size_t n) {
  checks::floating("x", x);
  const auto rank = static_cast<int64_t>(n);
  const char* const sizes = n == 1 ? "L" : n == 2 ? "H, W" : "D, H, W";
  TANDEM_CHECK(x.dim() == rank + 1 || x.dim() == rank + 2, ShapeError, "x is {}, but must be [N, C, {}] or [C, {}]",
               checks::show(x), sizes, sizes);
  for (int64_t d = x.dim() - rank - 1; d < x.dim(); ++d) {
    TANDEM_CHECK(x.size(d) > 0, ShapeError, "x is {}; only N may be 0", checks::show(x));
  }
}

}  // namespace tandem::detail
