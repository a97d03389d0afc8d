#pragma once
// parallel_for: divides a range of independent work items between threads.
//
// Kernels whose results depend on how work is grouped (sums) choose groups by size alone and call parallel_for over
// groups, so that results do not depend on the number of threads.
#include <cstdint>

#include "tandem/base/macros.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu {

/// Number of simple elements below which a second thread does not pay off (starting one takes about 0.6 us).
inline constexpr int64_t kParallelGrain = 32768;

namespace detail {
using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_run(int64_t n, int64_t grain, ParallelBody body, void* context);
}  // namespace detail

/// Calls f(begin, end) for consecutive parts of [0, n) with at least `grain` items each. Uses several threads if n >
/// grain and the caller is not itself inside a parallel_for, else only the calling thread. Rethrows the first exception
/// of f after all parts have ended.
template <class F>
TANDEM_MATH void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) {
    f(int64_t{0}, n);
    return;
  }
  detail::parallel_run(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<decltype(&f)>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace tandem::cpu
