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

/// Maximum threads per block for rows of N tensors whose elements still fit into registers.
template <size_t N>
constexpr int threads_of(bool columns, bool f64) {
  return columns || f64 ? 256 : N == 2 ? 1024 : 512;
}
/// Minimum blocks per multiprocessor. By default the compiler makes room for four blocks of 256 threads, and spills
/// elements to memory.
constexpr int blocks_of(bool columns, bool f64) { return columns && !f64 ? 2 : 1; }

/// Calls f(share, v) for this thread's parts of a row of n elements at offset `at`. With kCached there is a single
/// part, which is in `held`.
template <bool kColumns, bool kCached, class C, class F>
__device__ __forceinline__ void for_parts(const RowsOf& x, int64_t at, int64_t n, bool packed,
                                          const C (&held)[kPerThread], F f) {
  if constexpr (kCached) {
    f(Share<kColumns>{0, n, packed}, held);
  } else {
    for (int64_t begin = 0; begin < n; begin += int64_t{kPerThread} * Group<kColumns>::width()) {
      const Share<kColumns> share{begin, n, packed};
      C v[kPerThread];
      share.load(x.data, x.dtype, v, [&](int64_t i) { return at + i * x.stride; });
      f(share, v);
    }
  }
}

/// The maximum of a row and the sum of its softmax terms, in f64 over groups of kPerThread. each(f) calls f(share, v)
/// for this thread's parts.
template <class C, bool kColumns, class Each>
__device__ __forceinline__ C sum_of_terms(Each each, C& max) {
  using G = Group<kColumns>;
  C top = math::lowest<C>();
  each([&](const Share<kColumns>& share, const C(&v)[kPerThread]) {
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) top = share.has(e) ? math::maximum(top, v[e]) : top;
  });
  top = G::fold(top, [](C a, C b) { return math::maximum(a, b); });

  double total = 0;
  each([&](const Share<kColumns>& share, const C(&v)[kPerThread]) {
    C part = 0;
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) part += share.has(e) ? math::softmax_term(v[e], top) : C(0);
    total += static_cast<double>(part);
  });
  max = top;
  return static_cast<C>(G::sum(total));
}

/// The rows of tensors of equal sizes, and the threads assigned to them. The last `per_row` tensors have one element
/// per row: they lack the dimension.
template <size_t N>
struct RowPlan {
  Geometry<N> others;
  int64_t n;
  GroupShape shape;
  bool f64, packed, cached;

  RowPlan(const std::array<const Tensor*, N>& tensors, int64_t dim, size_t per_row = 0) {
    f64 = std::any_of(tensors.begin(), tensors.end(), [](const Tensor* t) { return t->dtype() == DType::F64; });
    const size_t d = static_cast<size_t>(dim);
    Dims sizes = tensors[0]->impl().sizes, strides[N];
    n = sizes.empty() ? 1 : sizes[d];
    if (!sizes.empty()) sizes.erase(d);
    std::array<IntArrayRef, N> lists;
    packed = n % kPerThread == 0;
    for (size_t k = 0; k < N; ++k) {
      strides[k] = tensors[k]->impl().strides;
      if (k < N - per_row) {
        packed = packed && strides[k].size() > 0 && strides[k][d] == 1 && is_aligned(*tensors[k]);
        if (!strides[k].empty()) strides[k].erase(d);
        for (size_t i = 0; i < sizes.size(); ++i) packed = packed && (sizes[i] == 1 || strides[k][i] % kPerThread == 0);
      }
      lists[k] = strides[k];
    }
    others = make_geometry<N>(kernels::make_walk<N>(sizes, lists));
    const IntArrayRef first = tensors[0]->strides();
    const bool columns = others.numel > 1 && n > 1 && others.strides[0][others.rank - 1] < first[d];
    shape = make_group_shape(others.numel, n, columns, threads_of<N>(false, f64));
    cached = n <= int64_t{kPerThread} * shape.width;
  }
};

}  // namespace tandem::cuda
