#pragma once
// Rows along one dimension of tensors of any strides and floating dtypes, with a Group of threads per row.
#include <algorithm>
#include <array>

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/group.h"
#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cuda {

/// A tensor's rows along the dimension.
struct RowsOf {
  void* data;
  DType dtype;
  int64_t stride;  ///< between the elements of a row

  RowsOf(const Tensor& x, int64_t dim)
      : data(x.raw_bytes()),
        dtype(x.dtype()),
        stride(x.strides().empty() ? 1 : x.strides()[static_cast<size_t>(dim)]) {}
};

/// Maximum threads per block for rows of N tensors whose elements still fit into registers. The loop over a row that is
/// not cached needs more than the 64 registers that 1024 threads leave to each.
template <size_t N>
constexpr int threads_of(bool columns, bool f64, bool cached) {
  return columns || f64 ? 256 : N == 2 && cached ? 1024 : 512;
}
/// Minimum blocks per multiprocessor. By default the compiler makes room for four blocks of 256 threads, and spills
/// elements to memory.
constexpr int blocks_of(bool columns, bool f64) { return columns && !f64 ? 2 : 1; }

/// A share of a row that may start anywhere in memory.
template <bool kColumns>
using RowShare = Share<kColumns, !kColumns>;

/// The share of the elements from `begin` on of a row of n elements at offset `at`.
template <bool kColumns>
__device__ __forceinline__ RowShare<kColumns> share_of_row(int64_t begin, int64_t at, int64_t n, bool packed) {
  return {begin, n, packed, packed ? static_cast<int>(at % kPerThread) : 0};
}

/// Calls f(share) for the parts of a row of n elements at offset `at`.
template <bool kColumns, class F>
__device__ __forceinline__ void for_shares(int64_t at, int64_t n, bool packed, F f) {
  const RowShare<kColumns> first = share_of_row<kColumns>(0, at, n, packed);
  for (int64_t begin = 0; begin < n + first.before; begin += int64_t{kPerThread} * Group<kColumns>::width()) {
    f(RowShare<kColumns>{begin, n, packed, first.before});
  }
}

/// Calls f(share, v) for this thread's parts of a row of n elements at offset `at`. With kCached there is a single
/// part, which is in `held`.
template <bool kColumns, bool kCached, class C, class F>
__device__ __forceinline__ void for_parts(const RowsOf& x, int64_t at, int64_t n, bool packed,
                                          const C (&held)[kPerThread], F f) {
  if constexpr (kCached) {
    f(share_of_row<kColumns>(0, at, n, packed), held);
  } else {
    for_shares<kColumns>(at, n, packed, [&](const RowShare<kColumns>& share) {
      C v[kPerThread];
      share.load(x.data, x.dtype, v, [&](int64_t i) { return at + i * x.stride; });
      f(share, v);
    });
  }
}

/// The maximum of a row and the sum of its softmax terms, in a math::Sum over groups of kPerThread. each(f) calls
/// f(share, v) for this thread's parts.
template <class C, bool kColumns, class Each>
__device__ __forceinline__ C sum_of_terms(Each each, C& max) {
  using G = Group<kColumns>;
  C top = math::lowest<C>();
  each([&](const RowShare<kColumns>& share, const C(&v)[kPerThread]) {
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) top = share.has(e) ? math::maximum(top, v[e]) : top;
  });
  top = G::fold(top, [](C a, C b) { return math::maximum(a, b); });

  math::Sum<C> total{};
  each([&](const RowShare<kColumns>& share, const C(&v)[kPerThread]) {
    C part = 0;
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) part += share.has(e) ? math::softmax_term(v[e], top) : C(0);
    total += part;
  });
  max = top;
  return G::sum(total).value();
}

/// Whether the rows of a and b along dimension d are contiguous, and each row of a starts as far from a multiple of
/// kPerThread as the same row of b.
inline bool rows_match(const Tensor& a, const Tensor& b, size_t d) {
  if (a.strides()[d] != 1 || b.strides()[d] != 1 || !is_aligned(a) || !is_aligned(b)) return false;
  for (size_t i = 0; i < a.sizes().size(); ++i) {
    if (i != d && a.sizes()[i] > 1 && (a.strides()[i] - b.strides()[i]) % kPerThread != 0) return false;
  }
  return true;
}

enum class RowStarts { multiples, any };

/// The rows of tensors of equal sizes, and the threads assigned to them. The last `per_row` tensors have one element
/// per row: they lack the dimension. Rows are packed if they start at multiples of kPerThread; with RowStarts::any also
/// long rows that start elsewhere, which need RowShare.
template <size_t N>
struct RowPlan {
  Geometry<N> others;
  int64_t n;
  GroupShape shape;
  bool f64, packed, cached;

  RowPlan(const std::array<const Tensor*, N>& tensors, int64_t dim, size_t per_row = 0,
          RowStarts starts = RowStarts::multiples) {
    f64 = std::any_of(tensors.begin(), tensors.end(), [](const Tensor* t) { return t->dtype() == DType::F64; });
    const size_t d = static_cast<size_t>(dim);
    Dims sizes = tensors[0]->impl().sizes, strides[N];
    n = sizes.empty() ? 1 : sizes[d];
    if (!sizes.empty()) sizes.erase(d);
    std::array<IntArrayRef, N> lists;
    packed = true;
    bool match = starts == RowStarts::any && n >= 32 * kPerThread;
    for (size_t k = 0; k < N; ++k) {
      strides[k] = tensors[k]->impl().strides;
      if (k < N - per_row) {
        packed = packed && in_runs(*tensors[k], d, kPerThread);
        match = match && rows_match(*tensors[0], *tensors[k], d);
        if (!strides[k].empty()) strides[k].erase(d);
      }
      lists[k] = strides[k];
    }
    others = make_geometry<N>(kernels::make_walk<N>(sizes, lists));
    const IntArrayRef first = tensors[0]->strides();
    const bool columns = others.numel > 1 && n > 1 && others.strides[0][others.rank - 1] < first[d];
    shape = make_group_shape(others.numel, n, columns, threads_of<N>(false, f64, true));
    cached = n + (match && !packed ? kPerThread - 1 : 0) <= int64_t{kPerThread} * shape.width;
    if (!cached) shape = make_group_shape(others.numel, n, columns, threads_of<N>(false, f64, false));
    packed = packed || match;
  }
};

}  // namespace tandem::cuda
