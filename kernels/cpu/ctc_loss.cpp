// ctc_loss, ctc_loss_backward. Contract: computed with logarithms in the tensors' dtype, f32 or f64.
#include "kernels/compute.h"
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/ctc.h"

namespace tandem::cpu {
namespace {

using kernels::CtcSample;
using kernels::CtcSamples;

/// Calls f(n) for every sample, in parallel.
template <class C, class F>
void for_samples(const CtcSamples<C>& all, F f) {
  const int64_t work = all.steps * (all.states + all.classes);
  parallel_for(all.samples, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) f(n);
  });
}

}  // namespace

void ctc_loss(const Tensor& loss, const Tensor& alpha, const Tensor& x, const Tensor& targets, const Tensor& extents,
              int64_t blank) {
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const CtcSamples<C> all(x, targets, extents, alpha, blank);
    for_samples(all, [&](int64_t n) {
      const CtcSample<C> sample = all.sample(n);
      for (int64_t k = 0; k < sample.labels; ++k) check_index(sample.target[k], all.classes, 2);
      C* row = nullptr;
      for (int64_t t = 0; t < sample.steps; ++t) {
        const C* const before = row;
        row = alpha.raw<C>() + all.row(n, t);
        for (int64_t s = 0; s < sample.states(); ++s) row[s] = sample.alpha(t, s, before);
      }
      loss.raw<C>()[n] = sample.loss(row);
    });
  });
}

void ctc_loss_backward(const Tensor& gx, const Tensor& beta, const Tensor& gy, const Tensor& x, const Tensor& targets,
                       const Tensor& extents, const Tensor& loss, const Tensor& alpha, int64_t blank,
                       bool zero_infinity) {
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const CtcSamples<C> all(x, targets, extents, alpha, blank);
    for_samples(all, [&](int64_t n) {
      const CtcSample<C> sample = all.sample(n);
      const C nll = loss.raw<C>()[n], g = gy.raw<C>()[n];
      const bool infinite = nll == math::kInf<C>;
      const C* after = nullptr;
      for (int64_t t = all.steps; t-- > 0;) {
        C* const out = gx.raw<C>() + (t * all.samples + n) * all.classes;
        if (t >= sample.steps || infinite) {
          const C value = t >= sample.steps || zero_infinity ? C(0) : math::kNaN<C>;
          std::fill(out, out + all.classes, value);
          continue;
        }
        const C* const in = sample.x + t * sample.stride;
        for (int64_t c = 0; c < all.classes; ++c) out[c] = g * math::exp(in[c]);
        const C* const alphas = alpha.raw<C>() + all.row(n, t);
        C* const betas = beta.raw<C>() + all.row(n, t);
        for (int64_t s = 0; s < sample.states(); ++s) {
          betas[s] = sample.beta(t, s, after);
          out[sample.label(s)] -= g * kernels::posterior(alphas[s], betas[s], nll, sample.at(t, s));
        }
        after = betas;
      }
    });
  });
}

}  // namespace tandem::cpu
