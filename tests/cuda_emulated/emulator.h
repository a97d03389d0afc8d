#pragma once
// A CUDA device on the CPU, for running kernels without a GPU: the device language as far as kernels/cuda uses it, and
// run(), which executes a grid. The .cu files are compiled as C++; math/ and base/ take their host branches.
//
// Blocks run one after the other, and so do the threads of a block. Each thread is a fiber that runs until it returns
// or waits at a barrier, a shuffle or a vote. A warp runs as far as it can before the next one starts. Every other
// block runs its threads, and every other launch its blocks, from the last to the first, so that a missing barrier
// gives wrong results in one of the two orders. Not emulated: dynamic shared memory, memory ordering, concurrent
// blocks, cooperative groups.
#if defined(__FMA__)
#include "cuda_emulated/separable_fma.h"
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <utility>

// ---- the language
#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline
// The most threads of a block are stored with the kernel as the number of `nop`s before it, one for each warp, whose
// place the section __patchable_function_entries has. The bound may depend on template parameters, so few attributes
// can hold it. Clang does not accept it there.
#if defined(__clang__)
#define __launch_bounds__(...)
#else
#define __launch_bounds__(threads, ...) \
  __attribute__((patchable_function_entry(((threads) + 31) / 32, ((threads) + 31) / 32)))
#endif
#define __shared__ static  // one copy for all blocks, which run one after the other

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr explicit dim3(unsigned x_size, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
};
inline constexpr int warpSize = 32;
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

namespace tandem::cuda::emulated {

/// Behaviour that is undefined on a device: a barrier that not all threads reach, a shuffle from a lane that does not
/// participate, a launch that no device accepts.
struct Misuse : std::logic_error {
  using std::logic_error::logic_error;
};
/// A kernel called __trap().
struct Trap : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Misuse if a device would refuse this launch of the kernel at `kernel`: because of its shape, its launch
/// bounds or its dynamic shared memory.
void check_launch(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes);

/// Runs `thread` as every thread of the grid. Rethrows the exception of a thread; the other threads are abandoned.
void run(dim3 grid, dim3 block, const std::function<void()>& thread);

/// Whether kernels round a * b + c once (initially, as nvcc's usually do) or after each operation. Returns the previous
/// setting. Has no effect on kernels compiled for processors without FMA.
bool fuse_multiply_adds(bool fuse);

/// Runs work given to the current stream: immediately, unless a capture records it (device/device.cpp).
void submit(std::function<void()> work);

/// Throws Misuse if the emulated device's compute capability is below 8.0 (device/device.cpp).
void require_sm80(const char* what);
void require_sm89(const char* what);
/// Blocks of 128: compute capability 9.0 only; blocks of 32: 10.0.
void require_float8_blocks(bool of_32);

using Site = std::source_location;

struct Votes {
  int live, yes;
};
/// Waits for all threads of the block that have not returned; all must wait at the same place.
Votes wait_for_block(bool vote, const Site& site);

/// The values that the lanes of a warp exchange.
struct Exchange {
  unsigned lanes;  ///< lanes that participate
  uint64_t values[warpSize];
};
using WarpFunction = void(const Exchange&);
/// Waits for the lanes of `mask` that have not returned; all must wait at the same place with the same mask. Calls
/// `function` once, before the lanes continue.
const Exchange& wait_for_warp(unsigned mask, uint64_t value, const Site& site, WarpFunction* function = nullptr);
/// Returns the calling thread's lane.
int lane();

/// Returns the value of lane `source`, which must participate.
uint64_t value_of(const Exchange& exchange, int source, const Site& site);

template <class T>
T shuffle(unsigned mask, T value, int source, const Site& site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = value_of(wait_for_warp(mask, bits, site), source, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline unsigned ballot(unsigned mask, bool vote, const Site& site) {
  const Exchange& exchange = wait_for_warp(mask, vote, site);
  unsigned yes = 0;
  for (int i = 0; i < warpSize; ++i) yes |= static_cast<unsigned>((exchange.lanes >> i & 1) & exchange.values[i]) << i;
  return yes;
}

/// Returns the first lane of the calling thread's segment of `width` lanes.
inline int segment(int width) { return lane() & ~(width - 1); }

}  // namespace tandem::cuda::emulated

// ---- barriers
#define TANDEM_SITE const std::source_location& site = std::source_location::current()

inline void __syncthreads(TANDEM_SITE) { tandem::cuda::emulated::wait_for_block(false, site); }
inline int __syncthreads_or(int vote, TANDEM_SITE) {
  return tandem::cuda::emulated::wait_for_block(vote != 0, site).yes != 0;
}
inline int __syncthreads_and(int vote, TANDEM_SITE) {
  const auto votes = tandem::cuda::emulated::wait_for_block(vote != 0, site);
  return votes.yes == votes.live;
}
inline int __syncthreads_count(int vote, TANDEM_SITE) {
  return tandem::cuda::emulated::wait_for_block(vote != 0, site).yes;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TANDEM_SITE) {
  tandem::cuda::emulated::wait_for_warp(mask, 0, site);
}

// ---- shuffles and votes: as in the CUDA C++ programming guide, sections 10.19 and 10.22
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, TANDEM_SITE) {
  using namespace tandem::cuda::emulated;
  return shuffle(mask, value, segment(width) + (source & (width - 1)), site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, TANDEM_SITE) {
  using namespace tandem::cuda::emulated;
  const int source = lane() - static_cast<int>(delta);
  return shuffle(mask, value, source < segment(width) ? lane() : source, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, TANDEM_SITE) {
  using namespace tandem::cuda::emulated;
  const int source = lane() + static_cast<int>(delta);
  return shuffle(mask, value, source >= segment(width) + width ? lane() : source, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, TANDEM_SITE) {
  using namespace tandem::cuda::emulated;
  const int source = lane() ^ lanes;
  return shuffle(mask, value, source >= segment(width) + width ? lane() : source, site);
}
inline unsigned __ballot_sync(unsigned mask, int vote, TANDEM_SITE) {
  return tandem::cuda::emulated::ballot(mask, vote != 0, site);
}
inline int __any_sync(unsigned mask, int vote, TANDEM_SITE) {
  return tandem::cuda::emulated::ballot(mask, vote != 0, site) != 0;
}
inline int __all_sync(unsigned mask, int vote, TANDEM_SITE) {
  return tandem::cuda::emulated::ballot(mask, vote == 0, site) == 0;
}
#undef TANDEM_SITE

// ---- other functions: threads run one at a time, so plain code is atomic
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}
template <class T>
T atomicMax(T* at, T value) {
  const T before = *at;
  *at = std::max(before, value);
  return before;
}
template <class T>
T atomicExch(T* at, T value) {
  return std::exchange(*at, value);
}
template <class T>
T atomicMin(T* at, T value) {
  const T before = *at;
  *at = std::min(before, value);
  return before;
}
template <class T>
T __ldg(const T* at) {
  return *at;
}
[[noreturn]] inline void __trap() { throw tandem::cuda::emulated::Trap("__trap"); }

#include "cuda_emulated/emulated_mma.h"
