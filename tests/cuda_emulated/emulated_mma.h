#pragma once
// The warp's instructions of kernels/cuda/mma.h on the emulated device. Products are summed in f32 in the order of k.
#include <cstdint>

#include "tandem/base/half.h"

namespace tandem::cuda {
namespace emulated {

/// Calls `function` once for the warp, with the address of each lane's `arguments`.
template <class Arguments>
void run_for_warp(Arguments& arguments, WarpFunction* function, const Site& site = Site::current()) {
  wait_for_warp(0xffffffffu, reinterpret_cast<uintptr_t>(&arguments), site, function);
}
template <class Arguments>
Arguments& arguments_of(const Exchange& warp, int lane) {
  if ((warp.lanes >> lane & 1) == 0) throw Misuse("a warp's instruction without all of its lanes");
  return *reinterpret_cast<Arguments*>(warp.values[lane]);
}

/// Begins, groups and ends asynchronous copies of the calling thread. The destination is filled with NaN until the
/// thread waits for the copy.
void copy_async(void* to, const void* from, size_t bytes, bool valid);
void commit_copies();
void wait_for_copies(int pending);

struct MatrixLoad {
  uint32_t (&registers)[4];
  const void* row;
};
template <bool kTransposed>
void load_matrices(uint32_t (&r)[4], const void* row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) throw Misuse("the row of a matrix is not aligned to 16 bytes");
  MatrixLoad load{r, row};
  run_for_warp(load, [](const Exchange& warp) {
    for (int lane = 0; lane < warpSize; ++lane) {
      for (int m = 0; m < 4; ++m) {
        uint32_t pair = 0;
        for (int i = 0; i < 2; ++i) {
          const int g = lane / 4, k = 2 * (lane % 4) + i;
          const void* const from = arguments_of<MatrixLoad>(warp, 8 * m + (kTransposed ? k : g)).row;
          pair |= static_cast<uint32_t>(static_cast<const uint16_t*>(from)[kTransposed ? g : k]) << (16 * i);
        }
        arguments_of<MatrixLoad>(warp, lane).registers[m] = pair;
      }
    }
  });
}

struct MmaOperands {
  float (&c)[4];
  const uint32_t (&a)[4];
  uint32_t b[2];
};
template <class T>
float element(uint32_t pair, int index) {
  return T::from_bits(static_cast<uint16_t>(pair >> (16 * index)));
}

}  // namespace emulated

template <class T>
void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  using namespace emulated;
  require_sm80("products of 16 x 16 x 8 elements");
  MmaOperands operands{c, a, {b0, b1}};
  run_for_warp(operands, [](const Exchange& warp) {
    float left[16][16], right[16][8];
    for (int i = 0; i < 16; ++i) {
      for (int k = 0; k < 16; ++k) {
        const MmaOperands& of_left = arguments_of<MmaOperands>(warp, i % 8 * 4 + k % 8 / 2);
        left[i][k] = element<T>(of_left.a[k / 8 * 2 + i / 8], k % 2);
        if (i >= 8) continue;
        const MmaOperands& of_right = arguments_of<MmaOperands>(warp, i * 4 + k % 8 / 2);
        right[k][i] = element<T>(of_right.b[k / 8], k % 2);
      }
    }
    for (int lane = 0; lane < warpSize; ++lane) {
      for (int e = 0; e < 4; ++e) {
        float& sum = arguments_of<MmaOperands>(warp, lane).c[e];
        for (int k = 0; k < 16; ++k) sum += left[lane / 4 + e / 2 * 8][k] * right[k][lane % 4 * 2 + e % 2];
      }
    }
  });
}

inline void load_matrices(uint32_t (&r)[4], const void* row) { emulated::load_matrices<false>(r, row); }
inline void load_matrices_transposed(uint32_t (&r)[4], const void* row) { emulated::load_matrices<true>(r, row); }
inline void copy_async(void* to, const void* from, bool valid) {
  emulated::require_sm80("asynchronous copies");
  emulated::copy_async(to, from, 16, valid);
}
inline void commit_copies() { emulated::commit_copies(); }
template <int kPending>
void wait_for_copies() {
  emulated::wait_for_copies(kPending);
}

}  // namespace tandem::cuda
