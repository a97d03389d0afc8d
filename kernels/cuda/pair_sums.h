#pragma once
// Two sums over each column of a matrix, or each channel of [outer, channels, inner], computed together: the statistics
// and gradients of normalisation layers.
//
// Contract: terms of type C are added in C over groups of at most 8, and the groups in math::Sum. Deterministic; the
// grouping of terms depends only on the sizes.
#include <algorithm>

#include "kernels/cuda/group.h"
#include "tandem/math/norm.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {

/// math::normalised, also where x - mean is beyond the range of C. The scale is a power of two, so it does not round a
/// difference that matters, and the compiler fuses it with the subtraction.
template <class C>
__device__ __forceinline__ C normalised(C x, C mean, C rstd) {
  const C scale = rstd < C(1) ? C(0.25) : C(1);
  return (x * scale - mean * scale) * (rstd < C(1) ? rstd * C(4) : rstd);
}

/// The terms of an element x.
enum class Pairs : uint8_t {
  moments,    ///< d and d^2, where d is the difference from the column's first element
  by_column,  ///< gy and gy xhat, with mean and rstd of the column
  by_row,     ///< gy and gy xhat, with mean and rstd of the row
};

struct PairOperands {
  const void* x;
  DType x_dtype;
  const void* gy = nullptr;
  DType gy_dtype = DType::F32;
  Vector mean, rstd;

  explicit PairOperands(const Tensor& x_tensor) : x(x_tensor.raw_bytes()), x_dtype(x_tensor.dtype()) {}
  PairOperands(const Tensor& x_tensor, const Tensor& gy_tensor, const Tensor& mean_tensor, const Tensor& rstd_tensor)
      : x(x_tensor.raw_bytes()),
        x_dtype(x_tensor.dtype()),
        gy(gy_tensor.raw_bytes()),
        gy_dtype(gy_tensor.dtype()),
        mean(mean_tensor),
        rstd(rstd_tensor) {}
};

namespace detail {

/// Adds the terms of x and gy.
template <Pairs kPairs, class C>
__device__ __forceinline__ void add_pair(C& a, C& b, C x, C gy, C mean, C rstd) {
  if constexpr (kPairs == Pairs::moments) {
    const C d = x - mean;
    a += d;
    b += d * d;
  } else {
    a += gy;
    b += gy * normalised(x, mean, rstd);
  }
}

/// partial [splits, 2, columns] of a contiguous [rows, columns]. Thread x of a block processes `Length` columns, thread
/// y every blockDim.y-th row of the split's chunk.
/// The compiler would make room for more blocks on a multiprocessor than the second bound, and spill registers.
template <class C, Pairs kPairs, int Length>
__global__ void __launch_bounds__(256, Length == 1 ? 4 : 2)
    sum_columns(PairOperands operands, int64_t rows, int64_t columns, int64_t chunk, math::Sum<C>* partial) {
  constexpr int kRows = Length == 1 ? kPerThread : 4, kTerms = kRows * Length;
  const int64_t c = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * Length;
  const bool has_columns = c < columns;
  const int64_t begin = int64_t{blockIdx.y} * chunk, end = has_columns ? min(rows, begin + chunk) : 0;
  C mean[Length] = {}, rstd[Length] = {};
  if constexpr (kPairs == Pairs::moments) {
    load_runs<C, 1, Length>(operands.x, operands.x_dtype, mean, [&](int) { return has_columns ? c : -1; });
  } else if constexpr (kPairs == Pairs::by_column) {
    for (int j = 0; has_columns && j < Length; ++j) {
      mean[j] = operands.mean.get<C>(c + j, C(0));
      rstd[j] = operands.rstd.get<C>(c + j, C(0));
    }
  }
  math::Sum<C> a[Length] = {}, b[Length] = {};
  for (int64_t first = begin + threadIdx.y; first < end; first += int64_t{kRows} * blockDim.y) {
    const auto row = [&](int u) { return first + int64_t{u} * blockDim.y; };
    const auto at = [&](int u) { return row(u) < end ? row(u) * columns + c : -1; };
    C x[kTerms], gy[kTerms] = {};
    load_runs<C, kRows, Length>(operands.x, operands.x_dtype, x, at);
    if constexpr (kPairs != Pairs::moments) load_runs<C, kRows, Length>(operands.gy, operands.gy_dtype, gy, at);
    C part_a[Length] = {}, part_b[Length] = {};
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      if (row(u) >= end) continue;
      if constexpr (kPairs == Pairs::by_row) {
        const C m = operands.mean.get<C>(row(u), C(0)), r = operands.rstd.get<C>(row(u), C(0));
#pragma unroll
        for (int j = 0; j < Length; ++j) mean[j] = m, rstd[j] = r;
      }
#pragma unroll
      for (int j = 0; j < Length; ++j)
        add_pair<kPairs>(part_a[j], part_b[j], x[u * Length + j], gy[u * Length + j], mean[j], rstd[j]);
    }
#pragma unroll
    for (int j = 0; j < Length; ++j) {
      a[j] += part_a[j];
      b[j] += part_b[j];
    }
  }
  math::Sum<C>* const to = partial + int64_t{blockIdx.y} * 2 * columns;
#pragma unroll
  for (int j = 0; j < Length; ++j) {
    const math::Sum<C> sum_a = Group<true>::sum(a[j]), sum_b = Group<true>::sum(b[j]);
    if (!has_columns || threadIdx.y != 0) continue;
    to[c + j] = sum_a;
    to[columns + c + j] = sum_b;
  }
}

/// partial [splits, 2, channels] of a contiguous [outer, channels, inner]. Each block processes a chunk of one channel.
template <class C, Pairs kPairs>
__global__ void __launch_bounds__(256) sum_channels(PairOperands operands, int64_t outer, int64_t channels,
                                                    int64_t inner, bool packed, int64_t chunk, math::Sum<C>* partial) {
  using G = Group<false>;
  const int64_t c = blockIdx.x, n = outer * inner;
  const int64_t begin = int64_t{blockIdx.y} * chunk, end = min(n, begin + chunk);
  C mean[1] = {}, rstd = 0;
  if constexpr (kPairs == Pairs::moments) {
    load_runs<C, 1, 1>(operands.x, operands.x_dtype, mean, [&](int) { return c * inner; });
  } else {
    mean[0] = operands.mean.get<C>(c, C(0));
    rstd = operands.rstd.get<C>(c, C(0));
  }
  const auto place = [&](int64_t i) {  // offset of the channel's element i
    const int64_t sample = n <= 0x7fffffff ? static_cast<uint32_t>(i) / static_cast<uint32_t>(inner) : i / inner;
    return (sample * channels + c) * inner + (i - sample * inner);
  };
  math::Sum<C> a{}, b{};
  for (int64_t first = begin; first < end; first += int64_t{kPerThread} * G::width()) {
    const Share<false> share{first, end, packed};
    C x[kPerThread], gy[kPerThread] = {};
    share.load(operands.x, operands.x_dtype, x, place);
    if constexpr (kPairs != Pairs::moments) share.load(operands.gy, operands.gy_dtype, gy, place);
    C part_a = 0, part_b = 0;
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) {
      if (share.has(e)) add_pair<kPairs>(part_a, part_b, x[e], gy[e], mean[0], rstd);
    }
    a += part_a;
    b += part_b;
  }
  a = G::sum(a);
  b = G::sum(b);
  if (threadIdx.x != 0) return;
  math::Sum<C>* const to = partial + int64_t{blockIdx.y} * 2 * channels;
  to[c] = a;
  to[channels + c] = b;
}

}  // namespace detail

/// Partial sums, math::Sum<C> [splits, 2, columns].
template <class C>
struct PartialPairs {
  Tensor data;
  int64_t splits, columns;

  PartialPairs(int64_t split_count, int64_t column_count, Device device)
      : data(empty({split_count, 2, column_count, kWords}, TensorOptions(dtype_of<C>).device(device))),
        splits(split_count),
        columns(column_count) {}
  math::Sum<C>* get() const { return reinterpret_cast<math::Sum<C>*>(data.raw<C>()); }

 private:
  static constexpr int64_t kWords = sizeof(math::Sum<C>) / sizeof(C);
};

inline constexpr int64_t kMaxPairSplits = 128;

template <class C, Pairs kPairs>
PartialPairs<C> column_pairs(const PairOperands& operands, int64_t rows, int64_t columns, bool aligned, Device device) {
  constexpr int kLength = 4;
  const bool packed = aligned && columns % kLength == 0;
  const int64_t lanes = packed ? columns / kLength : columns;
  const GroupShape shape = make_group_shape(lanes, rows, true);
  const int64_t share = 2 * kPerThread * shape.width, most = std::max<int64_t>(1, rows / share);
  const int64_t splits = std::clamp<int64_t>(detail::kBlocksWanted / shape.blocks, 1, std::min(most, kMaxPairSplits));
  const int64_t chunk = (rows + splits - 1) / splits;
  const PartialPairs<C> partial(splits, columns, device);
  Launch at = launch_of(shape);
  at.grid = dim3(static_cast<unsigned>((lanes + shape.rows - 1) / shape.rows), static_cast<unsigned>(splits));
  const auto kernel = packed ? detail::sum_columns<C, kPairs, kLength> : detail::sum_columns<C, kPairs, 1>;
  launch(kernel, at, operands, rows, columns, chunk, partial.get());
  return partial;
}

template <class C, Pairs kPairs>
PartialPairs<C> channel_pairs(const PairOperands& operands, int64_t outer, int64_t channels, int64_t inner,
                              bool aligned, Device device) {
  const int64_t n = outer * inner;
  GroupShape shape = make_group_shape(1, n, false);
  const int64_t at_a_time = int64_t{kPerThread} * shape.width, most = std::max<int64_t>(1, n / (2 * at_a_time));
  int64_t splits = std::clamp<int64_t>(detail::kBlocksWanted / channels, 1, std::min(most, kMaxPairSplits));
  const int64_t chunk = ((n + splits - 1) / splits + at_a_time - 1) / at_a_time * at_a_time;
  splits = std::max<int64_t>(1, (n + chunk - 1) / chunk);
  const PartialPairs<C> partial(splits, channels, device);
  // One row per block and at least a warp: further groups would repeat the work of the first.
  shape.width = std::max(shape.width, 32);
  shape.rows = 1;
  Launch at = launch_of(shape);
  at.grid = dim3(static_cast<unsigned>(channels), static_cast<unsigned>(splits));
  launch(detail::sum_channels<C, kPairs>, at, operands, outer, channels, inner, aligned && inner % kPerThread == 0,
         chunk, partial.get());
  return partial;
}

/// Sums column c over the splits, in a launch of pair_shape(columns). Every thread of the block must call it.
template <class C>
__device__ void total_pairs(const math::Sum<C>* partial, int64_t splits, int64_t columns, int64_t c, math::Sum<C>& a,
                            math::Sum<C>& b) {
  using G = Group<true>;
  a = b = math::Sum<C>{};
  for (int64_t s = G::thread(); c < columns && s < splits; s += G::width()) {
    a += partial[2 * s * columns + c];
    b += partial[(2 * s + 1) * columns + c];
  }
  a = G::sum(a);
  b = G::sum(b);
}

/// Blocks of 32 columns with 8 threads per column.
inline Launch pair_shape(int64_t columns) { return {dim3(static_cast<unsigned>((columns + 31) / 32)), dim3(32, 8), 0}; }

}  // namespace tandem::cuda
