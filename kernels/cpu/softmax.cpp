// softmax, softmax_backward. Contract: f16 and bf16 rows are widened once, computed in f32 with sums in f64 over groups
// of at most 32 terms, and rounded once; f64 in f64. The row's maximum is subtracted first, so nothing overflows.
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace tandem::cpu {

void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log) {
  if (x.numel() == 0) return;
  const Space others = other_dimensions({&y, &x}, dim);
  for_rows(promote_types(y.dtype(), x.dtype()), others, x.numel() / others.numel,
           [&](const auto& table, auto zero, int64_t begin, int64_t end) {
             using C = decltype(zero);
             Rows<C> out(y, others, 0, dim), in(x, others, 1, dim);
             for (int64_t k = begin; k < end; ++k) {
               table.forward(out.target(k), in.read(k), in.size(), log);
               out.commit(k);
             }
           });
}

void softmax_backward(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log) {
  if (y.numel() == 0) return;
  const Space others = other_dimensions({&gx, &gy, &y}, dim);
  for_rows(promote_types(gx.dtype(), promote_types(gy.dtype(), y.dtype())), others, y.numel() / others.numel,
           [&](const auto& table, auto zero, int64_t begin, int64_t end) {
             using C = decltype(zero);
             Rows<C> out(gx, others, 0, dim), in_gy(gy, others, 1, dim), in_y(y, others, 2, dim);
             for (int64_t k = begin; k < end; ++k) {
               table.backward(out.target(k), in_gy.read(k), in_y.read(k), in_y.size(), log);
               out.commit(k);
             }
           });
}

}  // namespace tandem::cpu
