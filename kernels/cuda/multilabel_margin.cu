// multilabel_margin, multilabel_margin_backward. Contract: f32 and f64, with sums in f64. One block per sample.
// Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

/// The sum over the block's threads. Every thread must call it.
__device__ __forceinline__ double sum_of_block(double v) {
  __shared__ double values[kThreads];
  __syncthreads();  // the values of the previous call have been read
  values[threadIdx.x] = v;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
  }
  __syncthreads();
  return values[0];
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    margin_losses(int64_t samples, int64_t classes, C* loss, bool* is_target, const C* x, const int64_t* target) {
  for (int64_t n = blockIdx.x; n < samples; n += gridDim.x) {
    const C* const v = x + n * classes;
    const int64_t* const listed = target + n * classes;
    bool* const marked = is_target + n * classes;
    for (int64_t k = threadIdx.x; k < classes; k += blockDim.x) marked[k] = false;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int64_t j = 0; j < classes && listed[j] >= 0; ++j) marked[checked(listed[j], classes)] = true;
    }
    __syncthreads();
    double sum = 0;
    for (int64_t j = 0; j < classes && listed[j] >= 0; ++j) {
      const C reach = C(1) - v[listed[j]];
      for (int64_t k = threadIdx.x; k < classes; k += blockDim.x) {
        sum += marked[k] ? C(0) : math::maximum(reach + v[k], C(0));
      }
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) loss[n] = static_cast<C>(sum / static_cast<double>(classes));
  }
}

/// One thread per class: a listed class counts the other classes within its margin, once for each time that it is
/// listed; another class counts the listed ones.
template <class C>
__global__ void __launch_bounds__(kThreads) margin_slopes(int64_t samples, int64_t classes, C* gx, const C* gy,
                                                          const C* x, const int64_t* target, const bool* is_target) {
  for (int64_t n = blockIdx.x; n < samples; n += gridDim.x) {
    const C* const v = x + n * classes;
    const int64_t* const listed = target + n * classes;
    const bool* const marked = is_target + n * classes;
    const C step = gy[n] / static_cast<C>(classes);
    for (int64_t k = threadIdx.x; k < classes; k += blockDim.x) {
      int64_t times = 0, within = 0;
      for (int64_t j = 0; j < classes && listed[j] >= 0; ++j) {
        if (marked[k]) {
          times += listed[j] == k;
        } else {
          within += C(1) - v[listed[j]] + v[k] > C(0);
        }
      }
      if (marked[k]) {
        const C reach = C(1) - v[k];
        for (int64_t other = 0; other < classes; ++other) within += !marked[other] && reach + v[other] > C(0);
        within *= -times;
      }
      gx[n * classes + k] = static_cast<C>(within) * step;
    }
  }
}

}  // namespace

void multilabel_margin(const Tensor& loss, const Tensor& is_target, const Tensor& x, const Tensor& target) {
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    launch(margin_losses<C>, block_stride(x.sizes()[0]), x.sizes()[0], x.sizes()[1], loss.raw<C>(),
           is_target.raw<bool>(), x.raw<C>(), target.raw<int64_t>());
  });
}

void multilabel_margin_backward(const Tensor& gx, const Tensor& gy, const Tensor& x, const Tensor& target,
                                const Tensor& is_target) {
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    launch(margin_slopes<C>, block_stride(x.sizes()[0]), x.sizes()[0], x.sizes()[1], gx.raw<C>(), gy.raw<C>(),
           x.raw<C>(), target.raw<int64_t>(), is_target.raw<bool>());
  });
}

}  // namespace tandem::cuda
