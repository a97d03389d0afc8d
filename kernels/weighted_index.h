#pragma once
// The choice of an index by weight, shared by both backends.
#include "tandem/base/macros.h"

namespace tandem::kernels {

/// The first of n running sums of weights that is above u times the last; u in [0, 1). An index without weight is never
/// chosen, since its sum is that of the index before it.
template <class C>
TANDEM_HOST_DEVICE inline int64_t weighted_index(const C* sums, int64_t n, C u) {
  const double total = static_cast<double>(sums[n - 1]), wanted = static_cast<double>(u) * total;
  int64_t low = 0, high = n - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const double sum = static_cast<double>(sums[middle]);
    if (sum > wanted || sum >= total) {  // the product may have been rounded up to the total
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace tandem::kernels
