// cross_entropy, cross_entropy_backward. Contract: f16 and bf16 rows are widened once and computed in f32, with sums in
// f64 over groups of at most 32 terms; f64 in f64. gx is rounded once. The row's maximum is subtracted first, so
// nothing overflows.
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd/softmax.h"
#include "kernels/targets.h"
#include "tandem/base/op_scope.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu {

using kernels::class_dim;
using kernels::Target;
using kernels::Targets;

namespace {

/// Calls f(table, C{}, begin, end) for ranges of the rows of x, with the table of its compute type.
template <class F>
void for_rows_of(const Tensor& x, const Space& others, F f) {
  for_rows(others, x.numel() / others.numel, [&](int64_t begin, int64_t end) {
    if (x.dtype() == DType::F64) {
      f(softmax_tables().cross_entropy_f64, double{}, begin, end);
    } else {
      f(softmax_tables().cross_entropy_f32, float{}, begin, end);
    }
  });
}

}  // namespace

void cross_entropy(const Tensor& loss, const Tensor& row_weight, const Tensor& max, const Tensor& log_sum,
                   const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  if (x.numel() == 0) return;
  const int64_t dim = class_dim(x);
  const auto check = [dim](int64_t k, int64_t classes) { check_index(k, classes, dim); };
  const Space others = other_dimensions({&x}, dim, &target);
  for_rows_of(x, others, [&](const auto& table, auto zero, int64_t begin, int64_t end) {
    using C = decltype(zero);
    const Targets<C> targets(x, target, weight, ignore_index);
    Rows<C> in(x, others, 0, dim);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = offset_of(others, 1, i);
      const Target<C> t = targets.get(row, check);
      const C* v = in.read(i);
      C& m = max.raw<C>()[row];
      C& l = log_sum.raw<C>()[row];
      table.normaliser(&m, &l, v, in.size());
      loss.raw<C>()[row] = t.k < 0 ? C(0) : math::cross_entropy(v[t.k], m, l, t.weight);
      if (row_weight.defined()) row_weight.raw<C>()[row] = t.weight;
    }
  });
}

void cross_entropy_backward(const Tensor& gx, const Tensor& gy, const Tensor& x, const Tensor& max,
                            const Tensor& log_sum, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  if (x.numel() == 0) return;
  const int64_t dim = class_dim(x), gy_step = gy.numel() > 1 ? 1 : 0;
  const auto check = [dim](int64_t k, int64_t classes) { check_index(k, classes, dim); };
  const Space others = other_dimensions({&gx, &x}, dim, &target);
  for_rows_of(x, others, [&](const auto& table, auto zero, int64_t begin, int64_t end) {
    using C = decltype(zero);
    const Targets<C> targets(x, target, weight, ignore_index);
    Rows<C> out(gx, others, 0, dim), in(x, others, 1, dim);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = offset_of(others, 2, i);
      const Target<C> t = targets.get(row, check);
      const C s = t.k < 0 ? C(0) : gy.raw<C>()[row * gy_step] * t.weight;
      C* g = out.target(i);
      table.backward(g, in.read(i), in.size(), max.raw<C>()[row], log_sum.raw<C>()[row], s);
      if (t.k >= 0) g[t.k] -= s;
      out.commit(i);
    }
  });
}

}  // namespace tandem::cpu
