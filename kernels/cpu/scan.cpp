// cumsum and the other scans. Contract: sums and products of f16, bf16 and f32 are held in f64 and rounded once per
// element, f64 in f64, integers modulo 2^64. y may be x.
#include "kernels/scan.h"
#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/fold.h"

namespace tandem::cpu {

void cumsum(const Tensor& y, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  const Space others = other_dimensions({&y, &x}, dim);
  const int64_t n = x.numel() / others.numel, grain = std::max<int64_t>(1, kParallelGrain / n);
  kernels::visit_compute(kernels::compute_type(promote_types(y.dtype(), x.dtype())), [&](auto zero) {
    using C = decltype(zero);
    parallel_for(others.numel, grain, [&](int64_t begin, int64_t end) {
      Rows<C> out(y, others, 0, dim), in(x, others, 1, dim);
      for (int64_t k = begin; k < end; ++k) {
        const C* const v = in.read(k);
        C* const sums = out.target(k);
        kernels::Accumulator<C> total{};
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = reverse ? n - 1 - i : i;
          total = math::add(total, static_cast<kernels::Accumulator<C>>(v[at]));
          sums[at] = static_cast<C>(total);
        }
        out.commit(k);
      }
    });
  });
}

void scan(const Tensor& y, const Tensor& indices, kernels::Scan op, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  const Tensor& places = indices.defined() ? indices : y;
  const Space others = other_dimensions({&y, &x, &places}, dim);
  const int64_t n = x.numel() / others.numel, grain = std::max<int64_t>(1, kParallelGrain / 4 / n);
  kernels::visit_compute(kernels::compute_type(promote_types(y.dtype(), x.dtype())), [&]<class C>(C) {
    kernels::visit_scan<C>(op, [&]<class S>(S) {
      parallel_for(others.numel, grain, [&](int64_t begin, int64_t end) {
        Rows<C> out(y, others, 0, dim), in(x, others, 1, dim);
        Rows<int64_t> found(places, others, 2, dim);
        for (int64_t k = begin; k < end; ++k) {
          const C* const v = in.read(k);
          C* const results = out.target(k);
          int64_t* const at_indices = indices.defined() ? found.target(k) : nullptr;
          typename S::State state = S::identity();
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = reverse ? n - 1 - i : i;
            state = S::combine(state, S::of(v[at], at));
            results[at] = S::value(state);
            if (at_indices) at_indices[at] = S::index(state);
          }
          out.commit(k);
          if (at_indices) found.commit(k);
        }
      });
    });
  });
}

}  // namespace tandem::cpu
