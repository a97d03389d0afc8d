// resample, window_argmax. Contract: f16 and bf16 are widened, sums are held in f32 (f64 for f64) and rounded once. One
// thread per element of the result, which adds its terms in order. Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/resample.h"

namespace tandem::cuda {
namespace {

using kernels::Along;
using math::Resampling;

/// Element i of y: its place along the dimension, and where the row of x begins that it is made of.
struct Place {
  int64_t along, row;
  __device__ Place(const Along& to, const Along& from, int64_t i) {
    const int64_t before = i / to.inner, inner = i - before * to.inner, outer = before / to.n;
    along = before - outer * to.n;
    row = outer * from.n * from.inner + inner;
  }
};

template <class C, bool kTransposed>
__global__ void __launch_bounds__(kThreads)
    combine_terms(Along to, Along from, Resampling r, void* y, DType y_type, const void* x, DType x_type) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, numel = to.outer * to.n * to.inner;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    const Place place(to, from, i);
    C sum = 0;
    const auto add = [&](int64_t k, C w) { sum += w * load<C>(x, x_type, place.row + k * from.inner); };
    if constexpr (kTransposed) {
      r.for_outputs<C>(place.along, add);
    } else {
      const math::Taps<C> taps = r.taps<C>(place.along);
      for (int64_t k = 0; k < taps.count; ++k) add(taps.first + k, taps.at(k));
    }
    store<C>(y, y_type, i, sum);
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    largest_in_windows(Along to, Along from, Resampling r, int64_t* index, const void* x, DType x_type) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, numel = to.outer * to.n * to.inner;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    const Place place(to, from, i);
    index[i] = kernels::largest_in_window(r, place.along,
                                          [&](int64_t k) { return load<C>(x, x_type, place.row + k * from.inner); });
  }
}

}  // namespace

void resample(const Tensor& y, const Tensor& x, int64_t dim, const Resampling& r, bool transposed) {
  const DeviceGuard on(y.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    const auto kernel = transposed ? combine_terms<C, true> : combine_terms<C, false>;
    launch(kernel, grid_stride(y.numel()), Along(y, dim), Along(x, dim), r, y.raw_bytes(), y.dtype(), x.raw_bytes(),
           x.dtype());
  });
}

void window_argmax(const Tensor& index, const Tensor& x, int64_t dim, const Resampling& r) {
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    launch(largest_in_windows<C>, grid_stride(index.numel()), Along(index, dim), Along(x, dim), r, index.raw<int64_t>(),
           x.raw_bytes(), x.dtype());
  });
}

}  // namespace tandem::cuda
