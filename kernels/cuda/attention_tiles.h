#pragma once
// Tiles of attention's operands in shared memory and in the registers of a block of four warps, and their products on
// tensor cores. Each warp has 16 rows of a result.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/mma.h"

namespace tandem::cuda {

inline constexpr int kWarps = 4, kBlockThreads = 32 * kWarps, kBlockRows = 16 * kWarps;

__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % 32; }
__device__ __forceinline__ int warp_of_block() { return static_cast<int>(threadIdx.x) / 32; }

/// Row of element e of a lane's share of a 16 x 8 matrix of sums, and the column of an element of tile n (mma.h).
__device__ __forceinline__ int row_of_sum(int e) { return lane_of_warp() / 4 + e / 2 * 8; }
__device__ __forceinline__ int column_of_sum(int n, int e) { return 8 * n + lane_of_warp() % 4 * 2 + e % 2; }

/// Rows of 16-bit elements in shared memory. In each row, chunks of 8 elements are permuted, so that the same chunk of
/// eight rows is in all banks.
template <int kRows, int kWidth>
struct SharedRows {
  alignas(16) uint16_t at[kRows][kWidth];
  __device__ uint16_t* chunk(int row, int c) { return &at[row][(c ^ (row % 8)) * 8]; }
};

/// Begins to load kCount rows of a head, from row `first` on, to the rows from `to_row` on; 0 outside of the tensor.
/// `aligned`: chunks of 8 elements lie within rows and are aligned.
template <int kCount, int kRows, int kWidth>
__device__ void load_rows(SharedRows<kRows, kWidth>& to, int to_row, const HeadRows& x, bool aligned, int64_t b,
                          int64_t h, int64_t first) {
  constexpr int kChunks = kWidth / 8;
  const uint16_t* const head = static_cast<const uint16_t*>(x.data) + x.offset(b, h, 0);
  for (int i = static_cast<int>(threadIdx.x); i < kCount * kChunks; i += kBlockThreads) {
    const int r = i / kChunks, c = i % kChunks;
    const bool has_row = first + r < x.rows;
    const uint16_t* const from = has_row ? head + (first + r) * x.row + 8 * c : head;
    uint16_t* const chunk = to.chunk(to_row + r, c);
    if (aligned) {
      copy_async(chunk, from, has_row && 8 * c < x.n);
    } else {
      for (int j = 0; j < 8; ++j) chunk[j] = has_row && 8 * c + j < x.n ? from[j] : uint16_t{0};
    }
  }
}

/// The same for two tensors, if there is such a tile; ends a group of copies, which may be empty.
template <int kCount, int kRows, int kWidth>
__device__ void load_pair(SharedRows<kRows, kWidth>& to_a, const HeadRows& a, SharedRows<kRows, kWidth>& to_b,
                          const HeadRows& b, bool aligned, int to_row, int64_t batch, int64_t head, int64_t first,
                          bool exists = true) {
  if (exists) {
    load_rows<kCount>(to_a, to_row, a, aligned, batch, head, first);
    load_rows<kCount>(to_b, to_row, b, aligned, batch, head, first);
  }
  commit_copies();
}

/// Loads 16 rows and columns [16 k, 16 k + 16) as the left operand of a product.
template <int kRows, int kWidth>
__device__ void load_left(uint32_t (&a)[4], SharedRows<kRows, kWidth>& from, int first_row, int k) {
  load_matrices(a, from.chunk(first_row + lane_of_warp() % 16, 2 * k + lane_of_warp() / 16));
}

/// A lane's share of 16 rows, the left operand of products over kWidth columns, in registers.
template <int kWidth>
struct LeftRows {
  uint32_t parts[kWidth / 16][4];

  template <int kRows>
  __device__ void load(SharedRows<kRows, kWidth>& from, int first_row) {
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k) load_left(parts[k], from, first_row, k);
  }
  __device__ const uint32_t (&part(int k) const)[4] { return parts[k]; }
};

/// The same rows in shared memory, loaded when they are needed.
template <int kRows, int kWidth>
struct SharedLeftRows {
  SharedRows<kRows, kWidth>& from;
  int first_row;
  uint32_t last[4];

  __device__ const uint32_t (&part(int k))[4] {
    load_left(last, from, first_row, k);
    return last;
  }
};

/// products[n] = the 16 rows of `left` times rows [first_row + 8 n, first_row + 8 n + 8) of `right`.
template <class T, int kTiles, class Left, int kRows, int kWidth>
__device__ void multiply_rows(float (&products)[kTiles][4], Left& left, SharedRows<kRows, kWidth>& right,
                              int first_row) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) products[n][e] = 0;
  }
  const int lane = lane_of_warp(), row = first_row + lane / 16 * 8 + lane % 8, chunk = lane / 8 % 2;
#pragma unroll
  for (int k = 0; k < kWidth / 16; ++k) {
    const auto& a = left.part(k);
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      load_matrices(b, right.chunk(row + 8 * n, 2 * k + chunk));
      multiply_add<T>(products[n], a, b[0], b[1]);
      multiply_add<T>(products[n + 1], a, b[2], b[3]);
    }
  }
}

/// sums += factors, rounded to T, times rows [first_row, first_row + 8 kTiles) of `right`.
template <class T, int kTiles, int kRows, int kWidth>
__device__ void add_products(float (&sums)[kWidth / 8][4], const float (&factors)[kTiles][4],
                             SharedRows<kRows, kWidth>& right, int first_row) {
  const int row = first_row + lane_of_warp() % 16, chunk = lane_of_warp() / 16;
#pragma unroll
  for (int k = 0; k < kTiles; k += 2) {
    const uint32_t a[4] = {pack_pair<T>(factors[k][0], factors[k][1]), pack_pair<T>(factors[k][2], factors[k][3]),
                           pack_pair<T>(factors[k + 1][0], factors[k + 1][1]),
                           pack_pair<T>(factors[k + 1][2], factors[k + 1][3])};
#pragma unroll
    for (int n = 0; n < kWidth / 8; n += 2) {
      uint32_t b[4];
      load_matrices_transposed(b, right.chunk(row + 8 * k, n + chunk));
      multiply_add<T>(sums[n], a, b[0], b[1]);
      multiply_add<T>(sums[n + 1], a, b[2], b[3]);
    }
  }
}

/// Stores 16 rows from `first` on; elements e / 2 = i of the sums are multiplied by factors[i].
template <class T, int kTiles>
__device__ void store_rows(const HeadRows& to, int64_t b, int64_t h, int64_t first, const float (&sums)[kTiles][4],
                           float upper, float lower) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int64_t row = first + row_of_sum(2 * i), offset = to.offset(b, h, row);
    if (row >= to.rows) continue;
    const float factor = i == 0 ? upper : lower;
    const bool in_pairs = (reinterpret_cast<uintptr_t>(static_cast<T*>(to.data) + offset) % 4 == 0);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const int column = column_of_sum(n, 0);
      const float x = sums[n][2 * i] * factor, y = sums[n][2 * i + 1] * factor;
      if (to.dtype == DType::F32) {
        float* const at = static_cast<float*>(to.data) + offset + column;
        if (column < to.n) at[0] = x;
        if (column + 1 < to.n) at[1] = y;
      } else {
        T* const at = static_cast<T*>(to.data) + offset + column;
        if (in_pairs && column + 1 < to.n) {
          *reinterpret_cast<uint32_t*>(at) = pack_pair<T>(x, y);
        } else {
          if (column < to.n) at[0] = T(x);
          if (column + 1 < to.n) at[1] = T(y);
        }
      }
    }
  }
}

}  // namespace tandem::cuda
