#pragma once
// parallel_for: a range of independent work items, shared among threads.
//
// Kernels whose result depends on how work is grouped (sums) choose their groups by size alone and use parallel_for
// over groups, so that no result depends on the number of threads.
#include <cstdint>

#include "tandem/base/macros.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu {

/// Elements of simple work below which a second thread costs more than it gives (starting one takes about 0.6 us).
inline constexpr int64_t kParallelGrain = 32768;

namespace detail {
using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_run(int64_t n, int64_t grain, ParallelBody body, void* context);
}  // namespace detail

/// Calls f(begin, end) for consecutive parts of [0, n), at least `grain` items each, on several threads when n > grain;
/// on the calling thread alone otherwise, and when that is itself inside a parallel_for. The first exception that f
/// throws is thrown again here, after all parts have ended.
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
