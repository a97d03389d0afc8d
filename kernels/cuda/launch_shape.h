#pragma once
// The shapes of launches. dim3 comes from the file that includes this one: CUDA's, or an emulator's.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::cuda {

/// Blocks of so many threads that the current device can hold at a time: what a grid-stride launch needs.
int resident_blocks(int threads_per_block);

inline constexpr int kThreads = 256;

struct Launch {
  dim3 grid{1}, block{kThreads};
  size_t shared_bytes = 0;
};

/// Blocks of kThreads that visit `items` in a grid-stride loop, `per_thread` at a time: at least one, and no more than
/// the device holds at once, so that no last wave runs half empty.
inline Launch grid_stride(int64_t items, int64_t per_thread = 1) {
  const int64_t threads = (items + per_thread - 1) / per_thread;
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  const int64_t most = resident_blocks(kThreads);
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most))), dim3(kThreads), 0};
}

/// A block of kThreads for each item, up to what the device holds at once.
inline Launch block_stride(int64_t items) {
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(items, 1, resident_blocks(kThreads)))), dim3(kThreads), 0};
}

}  // namespace tandem::cuda
