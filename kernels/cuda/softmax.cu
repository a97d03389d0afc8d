// softmax, softmax_backward. Contract: f16 and bf16 are widened, computed in f32 with sums in f64 over groups of 8
// terms, and rounded once; f64 in f64. The row's maximum is subtracted first, so nothing overflows. A row of -inf only
// gives NaN. y may be x, gx may be gy. Deterministic.
#include "tandem/math/softmax.h"

#include <algorithm>

#include "kernels/cuda/geometry.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "tandem/math/reduce.h"

namespace tandem::cuda {
namespace {

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

/// Threads of a block for rows of N tensors: as many as hold their elements in registers.
template <size_t N>
constexpr int threads_of(bool columns, bool f64) {
  return columns || f64 ? 256 : N == 2 ? 1024 : 512;
}
/// Blocks that a multiprocessor must have room for. Left to itself the compiler goes for four of 256 threads, and keeps
/// elements in memory for it.
constexpr int blocks_of(bool columns, bool f64) { return columns && !f64 ? 2 : 1; }

/// Calls f(share, v) for this thread's parts of a row of n elements at offset `at`. With kCached one part is all: it is
/// in `held`.
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

template <class C, bool kColumns, bool kCached>
__global__ void __launch_bounds__(threads_of<2>(kColumns, sizeof(C) == 8), blocks_of(kColumns, sizeof(C) == 8))
    softmax_rows(Geometry<2> others, int64_t length, RowsOf y, RowsOf x, bool packed, bool log) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;  // without a row a thread still takes part in the folds
    int64_t at[2] = {0, 0};
    if (n > 0) others.offsets(k, at);
    C held[kPerThread];
    if constexpr (kCached)
      Share<kColumns>{0, n, packed}.load(x.data, x.dtype, held, [&](int64_t i) { return at[1] + i * x.stride; });
    const auto each = [&](auto f) { for_parts<kColumns, kCached>(x, at[1], n, packed, held, f); };

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
    const C sum = static_cast<C>(G::sum(total));
    const C log_sum = log ? math::log(sum) : C(0), scale = C(1) / sum;

    each([&](const Share<kColumns>& share, const C(&v)[kPerThread]) {
      C result[kPerThread];
#pragma unroll
      for (int e = 0; e < kPerThread; ++e)
        result[e] = log ? math::log_softmax(v[e], top, log_sum) : math::softmax_term(v[e], top) * scale;
      share.store(y.data, y.dtype, result, [&](int64_t i) { return at[0] + i * y.stride; });
    });
  }
}

template <class C, bool kColumns, bool kCached>
__global__ void __launch_bounds__(threads_of<3>(kColumns, sizeof(C) == 8), blocks_of(kColumns, sizeof(C) == 8))
    softmax_backward_rows(Geometry<3> others, int64_t length, RowsOf gx, RowsOf gy, RowsOf y, bool packed, bool log) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;
    int64_t at[3] = {0, 0, 0};
    if (n > 0) others.offsets(k, at);
    const auto load_y = [&](const Share<kColumns>& share, C(&v)[kPerThread]) {
      share.load(y.data, y.dtype, v, [&](int64_t i) { return at[2] + i * y.stride; });
    };
    C held[kPerThread], held_y[kPerThread];
    if constexpr (kCached) {
      const Share<kColumns> share{0, n, packed};
      share.load(gy.data, gy.dtype, held, [&](int64_t i) { return at[1] + i * gy.stride; });
      load_y(share, held_y);
    }
    const auto each = [&](auto f) { for_parts<kColumns, kCached>(gy, at[1], n, packed, held, f); };

    double total = 0;
    each([&](const Share<kColumns>& share, const C(&g)[kPerThread]) {
      if constexpr (!kCached) load_y(share, held_y);
      C part = 0;
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) part += share.has(e) ? (log ? g[e] : g[e] * held_y[e]) : C(0);
      total += static_cast<double>(part);
    });
    const C sum = static_cast<C>(G::sum(total));

    each([&](const Share<kColumns>& share, const C(&g)[kPerThread]) {
      if constexpr (!kCached) load_y(share, held_y);
      C result[kPerThread];
#pragma unroll
      for (int e = 0; e < kPerThread; ++e)
        result[e] =
            log ? math::log_softmax_backward(g[e], held_y[e], sum) : math::softmax_backward(g[e], held_y[e], sum);
      share.store(gx.data, gx.dtype, result, [&](int64_t i) { return at[0] + i * gx.stride; });
    });
  }
}

/// The rows of tensors of equal sizes, and how threads are shared out to them.
template <size_t N>
struct RowPlan {
  Geometry<N> others;
  int64_t n;
  GroupShape shape;
  bool f64, packed, cached;

  RowPlan(const std::array<const Tensor*, N>& tensors, int64_t dim) {
    f64 = std::any_of(tensors.begin(), tensors.end(), [](const Tensor* t) { return t->dtype() == DType::F64; });
    const size_t d = static_cast<size_t>(dim);
    Dims sizes = tensors[0]->impl().sizes, strides[N];
    n = sizes.empty() ? 1 : sizes[d];
    if (!sizes.empty()) sizes.erase(d);
    std::array<IntArrayRef, N> lists;
    packed = n % kPerThread == 0;
    for (size_t k = 0; k < N; ++k) {
      strides[k] = tensors[k]->impl().strides;
      packed = packed && strides[k].size() > 0 && strides[k][d] == 1 && is_aligned(*tensors[k]);
      if (!strides[k].empty()) strides[k].erase(d);
      for (size_t i = 0; i < sizes.size(); ++i) packed = packed && (sizes[i] == 1 || strides[k][i] % kPerThread == 0);
      lists[k] = strides[k];
    }
    others = make_geometry<N>(kernels::make_walk<N>(sizes, lists));
    const IntArrayRef first = tensors[0]->strides();
    const bool columns = others.numel > 1 && n > 1 && others.strides[0][others.rank - 1] < first[d];
    shape = make_group_shape(others.numel, n, columns, threads_of<N>(false, f64));
    cached = n <= int64_t{kPerThread} * shape.width;
  }
};

/// Calls f with the kernel's flags: std::bool_constant for columns and for cached.
template <size_t N, class F>
void visit_plan(const RowPlan<N>& plan, F f) {
  if (plan.shape.columns) {
    plan.cached ? f(std::true_type(), std::true_type()) : f(std::true_type(), std::false_type());
  } else {
    plan.cached ? f(std::false_type(), std::true_type()) : f(std::false_type(), std::false_type());
  }
}

}  // namespace

void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const RowPlan<2> plan({&y, &x}, dim);
  visit_plan(plan, [&](auto columns, auto cached) {
    const auto run = [&](auto zero) {
      launch(softmax_rows<decltype(zero), columns.value, cached.value>, launch_of(plan.shape), plan.others, plan.n,
             RowsOf(y, dim), RowsOf(x, dim), plan.packed, log);
    };
    plan.f64 ? run(double{}) : run(float{});
  });
}

void softmax_backward(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const RowPlan<3> plan({&gx, &gy, &y}, dim);
  visit_plan(plan, [&](auto columns, auto cached) {
    const auto run = [&](auto zero) {
      launch(softmax_backward_rows<decltype(zero), columns.value, cached.value>, launch_of(plan.shape), plan.others,
             plan.n, RowsOf(gx, dim), RowsOf(gy, dim), RowsOf(y, dim), plan.packed, log);
    };
    plan.f64 ? run(double{}) : run(float{});
  });
}

}  // namespace tandem::cuda
