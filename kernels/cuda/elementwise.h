#pragma once
// Launches of element-wise kernels: y_i = f(x_i, ...). Internal.
//
// Where the innermost loop allows it (runs.h), a thread processes a run of adjacent elements: one address per operand
// and accesses of up to 16 bytes, also for mixed dtypes and broadcast operands. Otherwise, and in f64, each element is
// located by its index.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loads.h"
#include "kernels/cuda/runs.h"

namespace tandem::cuda {

/// Tensors of any dtypes, read as C.
template <size_t N, class C>
struct Operands {
  void* data[N];  ///< null for a number
  DType dtypes[N];
  bool constant[N];  ///< does not move within a run
  C numbers[N];      ///< one-element CPU operands, passed as kernel parameters
};

/// Elements of N operands, of the compute type C, that a thread holds in registers.
template <class C, size_t N>
inline constexpr int kRun = sizeof(C) == 4 && N < 4 ? 8 : 4;

/// The dtypes that visit_runs converts: integers to integers, floating ones and masks to floating ones.
template <class C>
inline constexpr Dtypes kInRuns = std::is_integral_v<C> ? Dtypes::all : Dtypes::floating_and_bytes;

template <class C>
bool converts_in_runs(DType dtype) {
  return visit_arithmetic_dtype(dtype, []<class T>(T) { return kConverts<C, T, kInRuns<C>>; });
}

/// Writes y_i = f(x_i, ...) as Y for the element at these offsets.
template <class Y, class C, size_t N, class F>
__device__ __forceinline__ void visit_one(const Operands<N, C>& operands, const int64_t (&offset)[N], const F& f) {
  C x[N];
#pragma unroll
  for (size_t k = 1; k < N; ++k) {
    x[k] = operands.data[k] ? load<C>(operands.data[k], operands.dtypes[k], offset[k]) : operands.numbers[k];
  }
  store<Y>(operands.data[0], operands.dtypes[0], offset[0], f(x));
}

/// Any strides.
template <class Y, class C, size_t N, class F>
__global__ void __launch_bounds__(kThreads) visit_each(Geometry<N> geometry, Operands<N, C> operands, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[N];
    geometry.offsets(i, offset);
    visit_one<Y>(operands, offset, f);
  }
}

/// Runs of kRun<C, N> elements, then the `rest` of a single loop.
template <class Y, class C, size_t N, class F>
__global__ void __launch_bounds__(kThreads) visit_runs(Geometry<N> runs, int rest, Operands<N, C> operands, F f) {
  constexpr int kLength = kRun<C, N>;
  const int64_t step = int64_t{gridDim.x} * blockDim.x, first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t r = first; r < runs.numel; r += step) {
    int64_t offset[N];
    runs.offsets(r, offset);
    C in[N][kLength];
#pragma unroll
    for (size_t k = 1; k < N; ++k) {
      if (operands.data[k] && !operands.constant[k]) {
        load_runs<C, 1, kLength, kInRuns<C>>(operands.data[k], operands.dtypes[k], in[k],
                                             [&](int) { return offset[k]; });
      } else {
        const C number =
            operands.data[k] ? load<C>(operands.data[k], operands.dtypes[k], offset[k]) : operands.numbers[k];
#pragma unroll
        for (int j = 0; j < kLength; ++j) in[k][j] = number;
      }
    }
    Y out[kLength];
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      C x[N];
#pragma unroll
      for (size_t k = 1; k < N; ++k) x[k] = in[k][j];
      out[j] = f(x);
    }
    store_runs<Y, 1, kLength, kInRuns<Y>>(operands.data[0], operands.dtypes[0], out, [&](int) { return offset[0]; });
  }
  if (first < rest) {
    int64_t offset[N];
#pragma unroll
    for (size_t k = 0; k < N; ++k) offset[k] = operands.constant[k] ? 0 : runs.numel * kLength + first;
    visit_one<Y>(operands, offset, f);
  }
}

/// Whether x is a CPU operand of a device kernel: ops accept a one-element CPU tensor as a number.
inline bool is_number(const Tensor& x, const Tensor& y) { return x.is_cpu() && !y.is_cpu(); }

template <class C>
C number_of(const Tensor& x) {
  return visit_arithmetic_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T value = *static_cast<const T*>(x.raw_bytes());
    if constexpr (sizeof(T) == 2 && is_floating_point(dtype_of<T>)) {
      return static_cast<C>(static_cast<float>(value));
    } else {
      return static_cast<C>(value);
    }
  });
}

template <class C, size_t N>
Operands<N, C> operands_of(const std::array<const Tensor*, N>& tensors, const kernels::Walk<N>& walk) {
  Operands<N, C> operands{};
  for (size_t k = 0; k < N; ++k) {
    operands.dtypes[k] = tensors[k]->dtype();
    operands.constant[k] = walk.row_stride(k) == 0;
    if (is_number(*tensors[k], *tensors[0])) {
      operands.numbers[k] = number_of<C>(*tensors[k]);
    } else {
      operands.data[k] = tensors[k]->raw_bytes();
    }
  }
  return operands;
}

/// y = f(x...) in the compute type C, where tensors[0] is y. f takes an array with the operands' elements in entries 1
/// and up. `is_predicate`: y is bool.
template <class C, bool is_predicate, size_t N, class F>
void visit(const std::array<const Tensor*, N>& tensors, F f) {
  if (tensors[0]->numel() == 0) return;
  const DeviceGuard on(tensors[0]->device());
  std::array<IntArrayRef, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = tensors[k]->strides();
  const auto walk = kernels::make_walk<N>(tensors[0]->sizes(), strides);
  const Operands<N, C> operands = operands_of<C>(tensors, walk);
  using Y = std::conditional_t<is_predicate, bool, C>;
  if constexpr (!std::is_same_v<C, double>) {  // f64 is for checks of gradients, not for speed
    constexpr int kLength = kRun<C, N>;
    bool runs = in_runs(walk, operands.data, kLength) && converts_in_runs<Y>(operands.dtypes[0]);
    for (size_t k = 1; k < N; ++k) {
      runs = runs && (operands.constant[k] || !operands.data[k] || converts_in_runs<C>(operands.dtypes[k]));
    }
    if (runs) {
      return launch(visit_runs<Y, C, N, F>, grid_stride(walk.numel, kLength), runs_of(walk, kLength),
                    walk.rank == 1 ? walk.numel % kLength : 0, operands, f);
    }
  }
  launch(visit_each<Y, C, N, F>, grid_stride(walk.numel), make_geometry(walk), operands, f);
}

}  // namespace tandem::cuda
