#pragma once
// Instructions of a warp for products on tensor cores and for loading their operands (sm_80 and up; elsewhere they
// trap). All 32 lanes must take part. Source: PTX ISA 8.0, sections on mma, ldmatrix and cp.async.
//
// A fragment is a lane's share of a matrix of 16-bit elements, two of them in each register. With g = lane / 4 and
// t = lane % 4:
//   a (16 x 16): rows g, g + 8, g, g + 8; columns 2 t, 2 t, 2 t + 8, 2 t + 8, and the next
//   b (16 x 8):  rows 2 t, 2 t + 8, and the next; column g
//   c (16 x 8, f32): rows g, g, g + 8, g + 8; columns 2 t, 2 t + 1, 2 t, 2 t + 1
#include <cstdint>
#include <type_traits>

#include "tandem/base/half.h"

namespace tandem::cuda {

/// Two elements in a register, `low` first in memory.
template <class T>
__device__ __forceinline__ uint32_t pack_pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t pair;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
#else
  return static_cast<uint32_t>(T(high).bits) << 16 | T(low).bits;
#endif
}

#if defined(__CUDACC__)  // elsewhere the emulated device declares these
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define TANDEM_SM80(...) __trap()
#else
#define TANDEM_SM80(...) asm volatile(__VA_ARGS__)
#endif

/// c += a b, with f32 sums.
template <class T>
__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<T, Half>) {
    TANDEM_SM80(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    TANDEM_SM80(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Loads four 8 x 8 matrices from shared memory: lane l gives the address of row l % 8 of matrix l / 8, 16 bytes. The
/// lane gets the elements 2 t and 2 t + 1 of row g of each.
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
  TANDEM_SM80("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
              : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
              : "memory");
}

/// The same with each matrix transposed: elements 2 t and 2 t + 1 of column g.
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], const void* row) {
  TANDEM_SM80("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
              : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
              : "memory");
}

/// Begins to copy 16 bytes to shared memory, or 16 zero bytes if not `valid`; then `from` is not read.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid) {
  TANDEM_SM80(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(valid ? 16 : 0)
      : "memory");
}

/// Ends a group of the thread's copies.
__device__ __forceinline__ void commit_copies() { TANDEM_SM80("cp.async.commit_group;" ::: "memory"); }

/// Waits for the thread's groups of copies except the last kPending.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  TANDEM_SM80("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#undef TANDEM_SM80
#endif

}  // namespace tandem::cuda
