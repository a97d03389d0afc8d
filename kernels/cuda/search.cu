// search_sorted, with the contract of the CPU's.
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    search_rows(int64_t total, int64_t columns, int64_t n, int64_t row_step, const T* sorted, const T* x, void* y,
                DType y_dtype, bool right) {
  using C = typename ComputeOf<T>::type;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) {
    const T* const row = sorted + i / columns * row_step;
    const C value = static_cast<C>(x[i]);
    int64_t begin = 0;
    for (int64_t end = n; begin < end;) {
      const int64_t middle = begin + (end - begin) / 2;
      const C at = static_cast<C>(row[middle]);
      if (value == value && !(right ? at <= value : at < value)) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    if (y_dtype == DType::I32) {
      static_cast<int32_t*>(y)[i] = static_cast<int32_t>(begin);
    } else {
      static_cast<int64_t*>(y)[i] = begin;
    }
  }
}

}  // namespace

void search_sorted(const Tensor& y, const Tensor& sorted, const Tensor& x, bool right) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const int64_t n = sorted.sizes()[1], row_step = sorted.sizes()[0] == 1 ? 0 : n;
  visit_arithmetic_dtype(x.dtype(), [&]<class T>(T) {
    launch(search_rows<T>, grid_stride(x.numel()), x.numel(), x.sizes()[1], n, row_step, sorted.raw<T>(), x.raw<T>(),
           y.raw_bytes(), y.dtype(), right);
  });
}

}  // namespace tandem::cuda
