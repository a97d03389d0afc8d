#pragma once
// Launches of element-wise kernels: y_i = f(x_i, ...). Internal.
//
// If all tensors are contiguous and of one dtype, elements are processed in packs of 16 bytes. Otherwise each element
// is located by its index and converted.
#include "kernels/cuda/element.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/launch.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Tensors of any dtypes, read as C.
template <size_t N, class C>
struct Operands {
  void* data[N];  ///< null for a number
  DType dtypes[N];
  C numbers[N];  ///< one-element CPU operands, passed as kernel parameters
};

/// Applies f to any strides and dtypes: operand 0 is written as Y, the others are read as C.
template <class Y, class C, size_t N, class F>
__global__ void __launch_bounds__(kThreads) visit_any(Geometry<N> geometry, Operands<N, C> operands, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[N];
    geometry.offsets(i, offset);
    C x[N];
#pragma unroll
    for (size_t k = 1; k < N; ++k) {
      x[k] = operands.data[k] ? load<C>(operands.data[k], operands.dtypes[k], offset[k]) : operands.numbers[k];
    }
    store<Y>(operands.data[0], operands.dtypes[0], offset[0], f(x));
  }
}

/// Applies f to contiguous operands of type T, with y of type Y: packs of kPack elements, then single elements for the
/// rest.
template <class Y, class T, size_t N, class F>
__global__ void __launch_bounds__(kThreads)
    visit_packs(int64_t numel, Operands<N, typename ComputeOf<T>::type> operands, F f) {
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

/// Whether x is a CPU operand of a device kernel: ops accept a one-element CPU tensor as a number.
inline bool is_number(const Tensor& x, const Tensor& y) { return x.is_cpu() && !y.is_cpu(); }

template <class C>
C number_of(const Tensor& x) {
  return visit_dtype(x.dtype(), [&](auto zero) {
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
Operands<N, C> operands_of(const std::array<const Tensor*, N>& tensors) {
  Operands<N, C> operands{};
  for (size_t k = 0; k < N; ++k) {
    operands.dtypes[k] = tensors[k]->dtype();
    if (is_number(*tensors[k], *tensors[0])) {
      operands.numbers[k] = number_of<C>(*tensors[k]);
    } else {
      operands.data[k] = tensors[k]->raw_bytes();
    }
  }
  return operands;
}

template <size_t N>
Geometry<N> geometry_of(const std::array<const Tensor*, N>& tensors) {
  std::array<IntArrayRef, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = tensors[k]->strides();
  return make_geometry<N>(kernels::make_walk<N>(tensors[0]->sizes(), strides));
}

/// Whether all tensors are contiguous and aligned for packs, the inputs of type T and y of type Y.
template <class Y, class T, size_t N>
bool fits_packs(const std::array<const Tensor*, N>& tensors) {
  for (size_t k = 0; k < N; ++k) {
    const Tensor& x = *tensors[k];
    if (!x.is_contiguous() || is_number(x, *tensors[0]) || x.dtype() != (k == 0 ? dtype_of<Y> : dtype_of<T>))
      return false;
    if (reinterpret_cast<uintptr_t>(x.raw_bytes()) % (16 / sizeof(T) * (k == 0 ? sizeof(Y) : sizeof(T))) != 0)
      return false;
  }
  return true;
}

template <class Y, class T, size_t N, class F>
bool try_packs(const std::array<const Tensor*, N>& tensors, F f) {
  if (!fits_packs<Y, T, N>(tensors)) return false;
  const int64_t numel = tensors[0]->numel();
  launch(visit_packs<Y, T, N, F>, grid_stride(numel, 16 / sizeof(T)), numel,
         operands_of<typename ComputeOf<T>::type>(tensors), f);
  return true;
}

/// y = f(x...) in the compute type C, where tensors[0] is y. f takes an array with the operands' elements in entries 1
/// and up. `is_predicate`: y is bool.
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
  launch(visit_any<Y, C, N, F>, grid_stride(geometry.numel), geometry, operands_of<C>(tensors), f);
}

}  // namespace tandem::cuda
