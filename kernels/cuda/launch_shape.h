#pragma once
// The shapes of launches, and the sizes of parameters. dim3 comes from the including file: CUDA's or an emulator's.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::cuda {

/// Number of blocks of this size that the current device can run at a time: the grid of a grid-stride launch.
int resident_blocks(int threads_per_block);

inline constexpr int kThreads = 256;

struct Launch {
  dim3 grid{1}, block{kThreads};
  size_t shared_bytes = 0;
};

/// The most bytes that the parameters of a kernel may take. Before CUDA 12.1, and on devices before compute capability
/// 7.0, it was 4096.
inline constexpr size_t kMostParameterBytes = 32764;

/// The bytes of a kernel's parameters: each begins at a multiple of its alignment.
template <class... P>
constexpr size_t parameter_bytes() {
  size_t bytes = 0;
  ((bytes = (bytes + alignof(P) - 1) / alignof(P) * alignof(P) + sizeof(P)), ...);
  return bytes;
}

/// Blocks of kThreads that visit `items` in a grid-stride loop, `per_thread` at a time. At least one block, and at most
/// as many as the device runs at once, so that there is no partly filled last wave.
inline Launch grid_stride(int64_t items, int64_t per_thread = 1) {
  const int64_t threads = (items + per_thread - 1) / per_thread;
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  const int64_t most = resident_blocks(kThreads);
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most))), dim3(kThreads), 0};
}

/// One block of kThreads per item, up to the number that the device runs at once.
inline Launch block_stride(int64_t items) {
  return {dim3(static_cast<unsigned>(std::clamp<int64_t>(items, 1, resident_blocks(kThreads)))), dim3(kThreads), 0};
}

}  // namespace tandem::cuda
