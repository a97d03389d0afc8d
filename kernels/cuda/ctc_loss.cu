// ctc_loss, ctc_loss_backward. Contract: computed with logarithms in the tensors' dtype, f32 or f64. One block per
// sample runs through the steps; a step's states are computed in parallel. Deterministic.
#include "kernels/compute.h"
#include "kernels/ctc.h"
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

using kernels::CtcSample;
using kernels::CtcSamples;

template <class C>
__global__ void __launch_bounds__(kThreads, 2) ctc_alphas(CtcSamples<C> all, C* alpha, C* loss) {
  for (int64_t n = blockIdx.x; n < all.samples; n += gridDim.x) {
    const CtcSample<C> sample = all.sample(n);
    for (int64_t k = threadIdx.x; k < sample.labels; k += blockDim.x) checked(sample.target[k], all.classes);
    const C* before = nullptr;
    for (int64_t t = 0; t < sample.steps; ++t) {
      C* const row = alpha + all.row(n, t);
      for (int64_t s = threadIdx.x; s < sample.states(); s += blockDim.x) row[s] = sample.alpha(t, s, before);
      __syncthreads();
      before = row;
    }
    if (threadIdx.x == 0) loss[n] = sample.loss(before);
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads, 2) ctc_betas(CtcSamples<C> all, C* beta) {
  for (int64_t n = blockIdx.x; n < all.samples; n += gridDim.x) {
    const CtcSample<C> sample = all.sample(n);
    const C* after = nullptr;
    for (int64_t t = sample.steps; t-- > 0;) {
      C* const row = beta + all.row(n, t);
      for (int64_t s = threadIdx.x; s < sample.states(); s += blockDim.x) row[s] = sample.beta(t, s, after);
      __syncthreads();
      after = row;
    }
  }
}

/// gx = gy exp(x) within the sample's steps, with the values that infinite losses have.
template <class C>
__global__ void __launch_bounds__(kThreads)
    ctc_expected(CtcSamples<C> all, C* gx, const C* gy, const C* loss, bool zero_infinity) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, numel = all.steps * all.samples * all.classes;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    const int64_t row = i / all.classes, n = row % all.samples, t = row / all.samples;
    const bool outside = t >= all.extents[n], infinite = loss[n] == math::kInf<C>;
    C value = gy[n] * math::exp(all.x[i]);
    if (infinite) value = zero_infinity ? C(0) : math::kNaN<C>;
    gx[i] = outside ? C(0) : value;
  }
}

/// Subtracts the probabilities of the classes given the target. One thread per step and sample, because several states
/// have one class.
template <class C>
__global__ void __launch_bounds__(kThreads, 2)
    ctc_subtract(CtcSamples<C> all, C* gx, const C* gy, const C* loss, const C* alpha, const C* beta) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, rows = all.steps * all.samples;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows; i += step) {
    const int64_t n = i % all.samples, t = i / all.samples;
    const CtcSample<C> sample = all.sample(n);
    const C nll = loss[n], g = gy[n];
    if (t >= sample.steps || nll == math::kInf<C>) continue;
    const int64_t row = all.row(n, t);
    C* const out = gx + i * all.classes;
    C blanks = 0;  // half of the states
    for (int64_t s = 0; s < sample.states(); ++s) {
      const C p = g * kernels::posterior(alpha[row + s], beta[row + s], nll, sample.at(t, s));
      if (s % 2 == 0) {
        blanks += p;
      } else {
        out[sample.label(s)] -= p;
      }
    }
    out[all.blank] -= blanks;
  }
}

}  // namespace

void ctc_loss(const Tensor& loss, const Tensor& alpha, const Tensor& x, const Tensor& targets, const Tensor& extents,
              int64_t blank) {
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const CtcSamples<C> all(x, targets, extents, alpha, blank);
    launch(ctc_alphas<C>, block_stride(all.samples), all, alpha.raw<C>(), loss.raw<C>());
  });
}

void ctc_loss_backward(const Tensor& gx, const Tensor& beta, const Tensor& gy, const Tensor& x, const Tensor& targets,
                       const Tensor& extents, const Tensor& loss, const Tensor& alpha, int64_t blank,
                       bool zero_infinity) {
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const CtcSamples<C> all(x, targets, extents, alpha, blank);
    launch(ctc_betas<C>, block_stride(all.samples), all, beta.raw<C>());
    launch(ctc_expected<C>, grid_stride(gx.numel()), all, gx.raw<C>(), gy.raw<C>(), loss.raw<C>(), zero_infinity);
    launch(ctc_subtract<C>, grid_stride(all.steps * all.samples), all, gx.raw<C>(), gy.raw<C>(), loss.raw<C>(),
           alpha.raw<C>(), beta.raw<C>());
  });
}

}  // namespace tandem::cuda
