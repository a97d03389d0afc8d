#pragma once
// launch: starts a kernel on the current stream through the Driver table, checked, with the arguments converted to the
// kernel's own parameter types.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/runtime.h"

namespace tandem::cuda {

/// The shape of a launch.
struct Launch {
  dim3 grid{1}, block{256};
  size_t shared_bytes = 0;
};

inline constexpr int kThreads = 256;

/// Blocks of kThreads that visit `items` in a grid-stride loop, `per_thread` at a time: no more than the device holds
/// at once, so that no last wave runs half empty.
inline Launch grid_stride(int64_t items, int64_t per_thread = 1) {
  const int64_t threads = (items + per_thread - 1) / per_thread;
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  const int64_t most = resident_blocks(kThreads);
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most))), dim3(kThreads), 0};
}

void launch_raw(const void* kernel, const Launch& shape, void** arguments);

/// launch(kernel, shape, arguments...): nothing is launched for an empty grid.
template <class... P, class... A>
void launch(void (*kernel)(P...), const Launch& shape, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A));
  std::tuple<std::remove_cv_t<P>...> values(static_cast<P>(std::forward<A>(arguments))...);
  std::apply(
      [&](auto&... v) {
        void* pointers[] = {static_cast<void*>(&v)..., nullptr};
        launch_raw(reinterpret_cast<const void*>(kernel), shape, pointers);
      },
      values);
}

}  // namespace tandem::cuda
