// cross_entropy, cross_entropy_backward. Contract: f16 and bf16 are widened and computed in f32, with sums in math::Sum
// over groups of 8 terms; f64 in f64. gx is rounded once. The row's maximum is subtracted first, so nothing overflows.
// A class out of range stops the kernel (__trap). Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.h"
#include "kernels/targets.h"

namespace tandem::cuda {
namespace {

using kernels::class_dim;
using kernels::Target;
using kernels::Targets;

struct CheckClass {
  __device__ void operator()(int64_t k, int64_t classes) const { checked(k, classes); }
};

/// The forward results per row.
template <class C>
struct RowResults {
  C *loss, *weight, *max, *log_sum;  ///< weight may be null
};

template <class C, bool kColumns, bool kCached>
__global__ void __launch_bounds__(threads_of<2>(kColumns, sizeof(C) == 8, kCached), blocks_of(kColumns, sizeof(C) == 8))
    cross_entropy_rows(Geometry<2> others, RowsOf x, bool packed, Targets<C> targets, RowResults<C> results) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t i = first + G::row();
    const int64_t n = i < others.numel ? targets.classes : 0;  // threads without a row still take part in the folds
    int64_t at[2] = {0, 0};
    if (n > 0) others.offsets(i, at);
    C held[kPerThread];
    if constexpr (kCached)
      share_of_row<kColumns>(0, at[0], n, packed).load(x.data, x.dtype, held, [&](int64_t e) {
        return at[0] + e * x.stride;
      });
    C max;
    const C sum =
        sum_of_terms<C, kColumns>([&](auto f) { for_parts<kColumns, kCached>(x, at[0], n, packed, held, f); }, max);
    if (n == 0 || G::thread() != 0) continue;
    const int64_t row = at[1];
    const C log_sum = math::log(sum);
    const Target<C> target = targets.get(row, CheckClass());
    results.max[row] = max;
    results.log_sum[row] = log_sum;
    if (results.weight) results.weight[row] = target.weight;
    results.loss[row] = target.k < 0 ? C(0)
                                     : math::cross_entropy(load<C>(x.data, x.dtype, at[0] + target.k * x.stride), max,
                                                           log_sum, target.weight);
  }
}

template <class C, bool kColumns>
__global__ void __launch_bounds__(threads_of<3>(kColumns, sizeof(C) == 8, false), blocks_of(kColumns, sizeof(C) == 8))
    cross_entropy_backward_rows(Geometry<3> others, RowsOf gx, RowsOf x, bool packed, Targets<C> targets, const C* gy,
                                int64_t gy_step, const C* max, const C* log_sum) {
  using G = Group<kColumns>;
  for (int64_t i = G::first_row() + G::row(); i < others.numel; i += G::row_step()) {
    int64_t at[3];
    others.offsets(i, at);
    const int64_t row = at[2];
    const Target<C> target = targets.get(row, CheckClass());
    const C s = target.k < 0 ? C(0) : gy[row * gy_step] * target.weight;
    const C row_max = max[row], row_log_sum = log_sum[row];
    for_shares<kColumns>(at[1], targets.classes, packed, [&](const RowShare<kColumns>& share) {
      C v[kPerThread];
      share.load(x.data, x.dtype, v, [&](int64_t e) { return at[1] + e * x.stride; });
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        v[e] = math::cross_entropy_backward(v[e], row_max, row_log_sum, s);
        if (share.index(e) == target.k) v[e] -= s;
      }
      share.store(gx.data, gx.dtype, v, [&](int64_t e) { return at[0] + e * gx.stride; });
    });
  }
}

}  // namespace

void cross_entropy(const Tensor& loss, const Tensor& row_weight, const Tensor& max, const Tensor& log_sum,
                   const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const int64_t dim = class_dim(x);
  const RowPlan<2> plan({&x, &target}, dim, 1, RowStarts::any);
  visit_flags(plan.shape.columns, plan.cached, [&](auto columns, auto cached) {
    kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
      const RowResults<C> results{loss.raw<C>(), row_weight.defined() ? row_weight.raw<C>() : nullptr, max.raw<C>(),
                                  log_sum.raw<C>()};
      launch(cross_entropy_rows<C, columns.value, cached.value>, launch_of(plan.shape), plan.others, RowsOf(x, dim),
             plan.packed, Targets<C>(x, target, weight, ignore_index), results);
    });
  });
}

void cross_entropy_backward(const Tensor& gx, const Tensor& gy, const Tensor& x, const Tensor& max,
                            const Tensor& log_sum, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const int64_t dim = class_dim(x);
  const RowPlan<3> plan({&gx, &x, &target}, dim, 1, RowStarts::any);
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const auto run = [&](auto columns) {
      launch(cross_entropy_backward_rows<C, columns.value>, launch_of(plan.shape), plan.others, RowsOf(gx, dim),
             RowsOf(x, dim), plan.packed, Targets<C>(x, target, weight, ignore_index), gy.raw<C>(),
             gy.numel() > 1 ? 1 : 0, max.raw<C>(), log_sum.raw<C>());
    };
    plan.shape.columns ? run(std::true_type()) : run(std::false_type());
  });
}

}  // namespace tandem::cuda
