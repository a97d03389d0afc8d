#pragma once
// Launches of element-wise kernels: y_i = f(x_i, ...). Internal.
//
// Where all tensors lie contiguously in one dtype, elements move in packs of 16 bytes; else each is found by its index
// and converted on the way.
#include "kernels/cuda/element.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/launch.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Tensors of any dtypes.
template <size_t N>
struct Operands {
  void* data[N];
  DType dtypes[N];
};

/// f over any strides and dtypes: operand 0 is written in Y, the others are read as C.
template <class Y, class C, size_t N, class F>
__global__ void __launch_bounds__(kThreads) visit_any(Geometry<N> geometry, Operands<N> operands, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[N];
    geometry.offsets(i, offset);
    C x[N];
#pragma unroll
    for (size_t k = 1; k < N; ++k) x[k] = load<C>(operands.data[k], operands.dtypes[k], offset[k]);
    store<Y>(operands.data[0], operands.dtypes[0], offset[0], f(x));
  }
}

/// f over contiguous operands of type T, y of type Y; `packs` of kPack elements, then the tail by single elements.
template <class Y, class T, size_t N, class F>
__global__ void __launch_bounds__(kThreads) visit_packs(int64_t numel, Operands<N> operands, F f) {
  constexpr int kPack = 16 / static_cast<int>(sizeof(T));
  using C = typename ComputeOf<T>::type;
  const int64_t packs = numel / kPack, step = int64_t{gridDim.x} * blockDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t p = first; p < packs; p += step) {
    Pack<T, kPack> in[N];
#pragma unroll
    for (size_t k = 1; k < N; ++k) in[k] = static_cast<const Pack<T, kPack>*>(operands.data[k])[p];
    Pack<Y, kPack> out;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      C x[N];
#pragma unroll
      for (size_t k = 1; k < N; ++k) x[k] = static_cast<C>(in[k].at[j]);
      out.at[j] = convert<Y>(f(x));
    }
    static_cast<Pack<Y, kPack>*>(operands.data[0])[p] = out;
  }
  const int64_t i = packs * kPack + first;
  if (i < numel) {
    C x[N];
#pragma unroll
    for (size_t k = 1; k < N; ++k) x[k] = static_cast<C>(static_cast<const T*>(operands.data[k])[i]);
    static_cast<Y*>(operands.data[0])[i] = convert<Y>(f(x));
  }
}

template <size_t N>
Operands<N> operands_of(const std::array<const Tensor*, N>& tensors) {
  Operands<N> operands;
  for (size_t k = 0; k < N; ++k) {
    operands.data[k] = tensors[k]->raw_bytes();
    operands.dtypes[k] = tensors[k]->dtype();
  }
  return operands;
}

template <size_t N>
Geometry<N> geometry_of(const std::array<const Tensor*, N>& tensors) {
  std::array<IntArrayRef, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = tensors[k]->strides();
  return make_geometry<N>(kernels::make_walk<N>(tensors[0]->sizes(), strides));
}

/// True when all are contiguous and aligned for packs, the inputs of type T and y of type Y.
template <class Y, class T, size_t N>
bool fits_packs(const std::array<const Tensor*, N>& tensors) {
  for (size_t k = 0; k < N; ++k) {
    const Tensor& x = *tensors[k];
    if (!x.is_contiguous() || x.dtype() != (k == 0 ? dtype_of<Y> : dtype_of<T>)) return false;
    if (reinterpret_cast<uintptr_t>(x.raw_bytes()) % (16 / sizeof(T) * (k == 0 ? sizeof(Y) : sizeof(T))) != 0)
      return false;
  }
  return true;
}

template <class Y, class T, size_t N, class F>
bool try_packs(const std::array<const Tensor*, N>& tensors, F f) {
  if (!fits_packs<Y, T, N>(tensors)) return false;
  const int64_t numel = tensors[0]->numel();
  launch(visit_packs<Y, T, N, F>, grid_stride(numel, 16 / sizeof(T)), numel, operands_of(tensors), f);
  return true;
}

/// y = f(x...) in the compute type C: tensors[0] is y. f takes an array whose entries from 1 on are the operands'
/// elements. `is_predicate`: y is bool.
template <class C, bool is_predicate, size_t N, class F>
void visit(const std::array<const Tensor*, N>& tensors, F f) {
  if (tensors[0]->numel() == 0) return;
  const DeviceGuard on(tensors[0]->device());
  if constexpr (std::is_same_v<C, float>) {
    if constexpr (is_predicate) {
      if (try_packs<bool, float, N>(tensors, f) || try_packs<bool, Half, N>(tensors, f) ||
          try_packs<bool, BFloat16, N>(tensors, f))
        return;
    } else {
      if (try_packs<float, float, N>(tensors, f) || try_packs<Half, Half, N>(tensors, f) ||
          try_packs<BFloat16, BFloat16, N>(tensors, f))
        return;
    }
  }
  const Geometry<N> geometry = geometry_of(tensors);
  using Y = std::conditional_t<is_predicate, bool, C>;
  launch(visit_any<Y, C, N, F>, grid_stride(geometry.numel), geometry, operands_of(tensors), f);
}

}  // namespace tandem::cuda
