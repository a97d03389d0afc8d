#pragma once
// parallel_for: divides a range of independent work items between threads.
//
// Kernels whose results depend on how work is grouped (sums) choose groups by size alone and call parallel_for over
// groups, so that results do not depend on the number of threads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "tandem/base/macros.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu {

/// Number of simple elements below which a second thread does not pay off (starting one takes about 0.6 us).
inline constexpr int64_t kParallelGrain = 32768;

/// The grain of parallel_for for items that each take as long as `work` simple elements.
constexpr int64_t grain_of(int64_t work) { return std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, work)); }

namespace detail {
using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_run(int64_t n, int64_t grain, ParallelBody body, void* context);
/// The number of parts into which parallel_run divides the work: 1 inside a parallel_for.
int64_t parallel_parts(int64_t n, int64_t grain);
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

/// Like parallel_for, but calls f(begin, end, state) with a State(arguments...) for each part, such as large buffers.
/// The calling thread makes all states first: the layout of memory would depend on the threads' timing if each
/// allocated its own buffers, and steps that repeat would sometimes request more memory from the system.
template <class State, class F, class... Arguments>
void parallel_for_with(int64_t n, int64_t grain, F&& f, const Arguments&... arguments) {
  if (n <= 0) return;
  const int64_t most = detail::parallel_parts(n, grain), size = (n + most - 1) / most, parts = (n + size - 1) / size;
  std::deque<State> states;  // a State need not be movable
  for (int64_t part = 0; part < parts; ++part) states.emplace_back(arguments...);
  parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      f(part * size, part + 1 < parts ? (part + 1) * size : n, states[static_cast<size_t>(part)]);
    }
  });
}

}  // namespace tandem::cpu
