#pragma once
// The search for the largest batch that fits into memory.
#include <algorithm>
#include <cstdint>

namespace bench {

struct LargestBatch {
  int64_t fits = 0;       ///< the largest batch known to fit; 0: not even 1
  int64_t too_large = 0;  ///< the smallest known not to fit; 0: none up to the limit
};

/// Doubles the batch from 1 until it does not fit, then halves the gap until it is at most a hundredth of the batch
/// that fits. `fits` is a function from a batch to bool.
template <class Fits>
LargestBatch largest_batch(Fits&& fits, int64_t limit = int64_t{1} << 20) {
  LargestBatch found;
  for (int64_t batch = 1; batch <= limit; batch *= 2) {
    if (!fits(batch)) {
      found.too_large = batch;
      break;
    }
    found.fits = batch;
  }
  while (found.too_large - found.fits > std::max<int64_t>(1, found.fits / 100)) {
    const int64_t middle = found.fits + (found.too_large - found.fits) / 2;
    (fits(middle) ? found.fits : found.too_large) = middle;
  }
  return found;
}

}  // namespace bench
