// reduce, var_mean. Contract: sums and products of f16, bf16 and f32 are kept in f64 over groups of at most 32 f32
// terms (products and squares in f64 throughout), of f64 in f64, of integers in i64 (wrapping). Each result is rounded
// once, so the intermediate values of a mean or a norm in f16 do not overflow. max, min and norm_inf: NaN wins. Without
// terms: 0 for sums and norms, 1 for prod, NaN for mean, false for any, true for all. Independent of the number of
// threads.
#include "kernels/cpu/reduce.h"

#include <cmath>

#include "kernels/cpu/kernels.h"

namespace tandem::cpu {
ReducePlan::ReducePlan(const Tensor& x, const Tensor& y) {
  struct Part {
    Dims sizes, x_strides, y_strides;
    Space space() const {
      const Dims* strides[] = {&x_strides, &y_strides};
      return make_space(sizes, strides, 2, Order::memory);
    }
  } kept_part, reduced_part;
  for (size_t d = 0; d < x.sizes().size(); ++d) {
    const bool is_kept = y.sizes()[d] == x.sizes()[d];
    Part& part = is_kept ? kept_part : reduced_part;
    part.sizes.push_back(x.sizes()[d]);
    part.x_strides.push_back(x.strides()[d]);
    part.y_strides.push_back(is_kept ? y.strides()[d] : 0);
  }
  kept = kept_part.space();
  reduced = reduced_part.space();
  columns = kept.numel > 1 && kept.strides[0][kept.rank - 1] < reduced.strides[0][reduced.rank - 1];
}

void reduce(const Tensor& y, Reduction op, const Tensor& x) {
  const ReducePlan plan(x, y);
  visit_compute(compute_type(kernels::operands_of(op, x.dtype(), y.dtype())), [&](auto zero) {
    using C = decltype(zero);
    using A = Accumulator<C>;
    fold_tensor<C>(kernels::fold_of(op), x, plan, nullptr, [&](int64_t k, int64_t count, const A* values) {
      const bool divides = kernels::is_mean(op);
      if (!divides && op != Reduction::norm2) return store_outputs(y, plan.kept, 1, k, count, values);
      double finished[kFoldColumns];
      for (int64_t i = 0; i < count; ++i) {
        const double v = static_cast<double>(values[i]);
        finished[i] = divides ? v / static_cast<double>(plan.reduced.numel) : std::sqrt(v);
      }
      store_outputs(y, plan.kept, 1, k, count, finished);
    });
  });
}

void var_mean(const Tensor& var, const Tensor& mean, const Tensor& x, double correction) {
  // Two passes: the mean, then the squared deviations from it, both in f64.
  const ReducePlan var_plan(x, var), mean_plan(x, mean);
  const double n = static_cast<double>(var_plan.reduced.numel);
  const double divisor = std::max(0.0, n - correction);
  std::vector<double> means(static_cast<size_t>(var_plan.kept.numel));
  visit_compute(compute_type(x.dtype()), [&](auto zero) {
    using C = decltype(zero);
    if constexpr (std::is_floating_point_v<C>) {
      fold_tensor<C>(Fold::sum, x, mean_plan, nullptr, [&](int64_t k, int64_t count, const double* values) {
        double* m = means.data() + k;
        for (int64_t i = 0; i < count; ++i) m[i] = values[i] / n;
        store_outputs(mean, mean_plan.kept, 1, k, count, m);
      });
      fold_tensor<C>(Fold::squared_deviation, x, var_plan, means.data(),
                     [&](int64_t k, int64_t count, const double* values) {
                       double finished[kFoldColumns];
                       for (int64_t i = 0; i < count; ++i) finished[i] = values[i] / divisor;
                       store_outputs(var, var_plan.kept, 1, k, count, finished);
                     });
    }
  });
}

}  // namespace tandem::cpu
