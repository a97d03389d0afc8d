// softmax, softmax_backward. Contract: f16 and bf16 are widened, computed in f32 with sums in math::Sum over groups of
// 8 terms, and rounded once; f64 in f64. The row's maximum is subtracted first, so nothing overflows. A row of only
// -inf gives NaN. y may be x, gx may be gy. Deterministic.
#include "tandem/math/softmax.h"

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.h"

namespace tandem::cuda {
namespace {

template <class C, bool kColumns, bool kCached>
__global__ void __launch_bounds__(threads_of<2>(kColumns, sizeof(C) == 8, kCached), blocks_of(kColumns, sizeof(C) == 8))
    softmax_rows(Geometry<2> others, int64_t length, RowsOf y, RowsOf x, bool packed, bool log) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;  // threads without a row still take part in the folds
    int64_t at[2] = {0, 0};
    if (n > 0) others.offsets(k, at);
    C held[kPerThread];
    if constexpr (kCached)
      share_of_row<kColumns>(0, at[1], n, packed).load(x.data, x.dtype, held, [&](int64_t i) {
        return at[1] + i * x.stride;
      });
    const auto each = [&](auto f) { for_parts<kColumns, kCached>(x, at[1], n, packed, held, f); };

    C top;
    const C sum = sum_of_terms<C, kColumns>(each, top);
    const C log_sum = log ? math::log(sum) : C(0), scale = C(1) / sum;

    each([&](const RowShare<kColumns>& share, const C(&v)[kPerThread]) {
      C result[kPerThread];
#pragma unroll
      for (int e = 0; e < kPerThread; ++e)
        result[e] = log ? math::log_softmax(v[e], top, log_sum) : math::softmax_term(v[e], top) * scale;
      share.store(y.data, y.dtype, result, [&](int64_t i) { return at[0] + i * y.stride; });
    });
  }
}

template <class C, bool kColumns, bool kCached>
__global__ void __launch_bounds__(threads_of<3>(kColumns, sizeof(C) == 8, kCached), blocks_of(kColumns, sizeof(C) == 8))
    softmax_backward_rows(Geometry<3> others, int64_t length, RowsOf gx, RowsOf gy, RowsOf y, bool packed, bool log) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;
    int64_t at[3] = {0, 0, 0};
    if (n > 0) others.offsets(k, at);
    const auto load_y = [&](const RowShare<kColumns>& share, C(&v)[kPerThread]) {
      share.load(y.data, y.dtype, v, [&](int64_t i) { return at[2] + i * y.stride; });
    };
    C held[kPerThread], held_y[kPerThread];
    if constexpr (kCached) {
      const RowShare<kColumns> share = share_of_row<kColumns>(0, at[1], n, packed);
      share.load(gy.data, gy.dtype, held, [&](int64_t i) { return at[1] + i * gy.stride; });
      load_y(share, held_y);
    }
    const auto each = [&](auto f) { for_parts<kColumns, kCached>(gy, at[1], n, packed, held, f); };

    math::Sum<C> total{};
    each([&](const RowShare<kColumns>& share, const C(&g)[kPerThread]) {
      if constexpr (!kCached) load_y(share, held_y);
      C part = 0;
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) part += share.has(e) ? (log ? g[e] : g[e] * held_y[e]) : C(0);
      total += part;
    });
    const C sum = G::sum(total).value();

    each([&](const RowShare<kColumns>& share, const C(&g)[kPerThread]) {
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

}  // namespace

void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const RowPlan<2> plan({&y, &x}, dim, 0, RowStarts::any);
  visit_flags(plan.shape.columns, plan.cached, [&](auto columns, auto cached) {
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
  const RowPlan<3> plan({&gx, &gy, &y}, dim, 0, RowStarts::any);
  visit_flags(plan.shape.columns, plan.cached, [&](auto columns, auto cached) {
    const auto run = [&](auto zero) {
      launch(softmax_backward_rows<decltype(zero), columns.value, cached.value>, launch_of(plan.shape), plan.others,
             plan.n, RowsOf(gx, dim), RowsOf(gy, dim), RowsOf(y, dim), plan.packed, log);
    };
    plan.f64 ? run(double{}) : run(float{});
  });
}

}  // namespace tandem::cuda
