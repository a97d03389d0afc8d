#pragma once
// Stands in for kernels/cuda/launch.h, which it comes before on the include path: launch() hands kernels to the
// emulator. Device memory is the CPU's, so CPU tensors are what kernels work on.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "cuda_emulated/emulator.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda {

struct Launch {
  dim3 grid{1}, block{256};
  size_t shared_bytes = 0;
};

inline constexpr int kThreads = 256;

/// A device so small that grid-stride loops go round.
inline int resident_blocks(int threads_per_block) { return 5 * kThreads / threads_per_block; }

inline Launch grid_stride(int64_t items, int64_t per_thread = 1) {
  const int64_t threads = (items + per_thread - 1) / per_thread;
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  const int64_t most = resident_blocks(kThreads);
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most))), dim3(kThreads), 0};
}

template <class... P, class... A>
void launch(void (*kernel)(P...), const Launch& shape, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A));
  const std::tuple<std::remove_cv_t<P>...> values(static_cast<P>(std::forward<A>(arguments))...);
  static_assert(sizeof(values) <= 32764, "more than a kernel's parameters may take");
  emulated::run(shape.grid, shape.block, shape.shared_bytes, [&] { std::apply(kernel, values); });
}

}  // namespace tandem::cuda
