// gather, index_select and their adjoints scatter_add, index_add. An index out of range stops the kernel (__trap): the
// error surfaces at the next call, and the device can no longer be used. Each addition is rounded to y's dtype (f16,
// bf16: computed in f32); integers wrap around; bool: or.
//
// Sums: where there are enough slices across `dim` to keep the device busy, a thread adds one slice's terms in the
// order of the indices, as the CPU does. Else f32, f64, i32 and i64 are added atomically, all terms side by side: for
// f32 and f64 this is the path whose result is not deterministic.
#include <concepts>

#include "kernels/compute.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logical.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {
namespace {

/// A tensor's strides with that of `dim` taken out: the index stands in for it.
struct Indexed {
  Dims others;
  int64_t along = 0;  ///< stride of `dim`
  int64_t size = 1;   ///< of `dim`
  Indexed(const Tensor& t, int64_t dim) : others(t.strides()) {
    if (others.empty()) return;
    const auto d = static_cast<size_t>(dim);
    along = others[d];
    size = t.sizes()[d];
    others[d] = 0;
  }
};

/// Strides of an index of rank 1 that all slices of a tensor of `rank` dimensions share.
Dims expanded(const Tensor& index, int64_t rank, int64_t dim) {
  Dims strides(static_cast<size_t>(rank), 0);
  if (rank > 0 && index.dim() > 0) strides[static_cast<size_t>(dim)] = index.strides()[0];
  return strides;
}

/// Calls f(Index{}) with the C++ type of the indices.
template <class F>
void visit_index(DType dtype, F&& f) {
  if (dtype == DType::I32) return f(int32_t{});
  f(int64_t{});
}

template <class Index>
__device__ __forceinline__ int64_t checked(Index k, int64_t size) {
  if (k < 0 || k >= size) __trap();
  return k;
}

/// Operands: y, index, x.
template <class Bits, class Index>
__global__ void __launch_bounds__(kThreads)
    take_each(Geometry<3> geometry, Bits* y, const Index* index, const Bits* x, int64_t along, int64_t size) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[3];
    geometry.offsets(i, offset);
    y[offset[0]] = x[offset[2] + checked(index[offset[1]], size) * along];
  }
}

/// y at each place = x there, with `dim`'s coordinate taken from the index.
void take(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Dims& index_strides) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Indexed from(x, dim);
  const auto geometry = make_geometry(kernels::make_walk<3>(y.sizes(), {y.strides(), index_strides, from.others}));
  const auto run = [&]<class Bits>(Bits) {
    visit_index(index.dtype(), [&]<class Index>(Index) {
      launch(take_each<Bits, Index>, grid_stride(geometry.numel), geometry, static_cast<Bits*>(y.raw_bytes()),
             index.raw<Index>(), static_cast<const Bits*>(x.raw_bytes()), from.along, from.size);
    });
  };
  switch (y.element_size()) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

/// How the tensors step along `dim`.
struct Along {
  int64_t count;  ///< indices of a slice
  int64_t y, index, src;
  int64_t y_size;
};

/// A thread a slice, the terms one after the other. Operands: y, index, src, without `dim`.
template <class Y, class S, class Index>
__global__ void __launch_bounds__(kThreads)
    add_slices(Geometry<3> slices, Along along, Y* y, const Index* index, const S* src) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < slices.numel; i += step) {
    int64_t offset[3];
    slices.offsets(i, offset);
    for (int64_t j = 0; j < along.count; ++j) {
      Y& sum = y[offset[0] + checked(index[offset[1] + j * along.index], along.y_size) * along.y];
      sum = kernels::sum_of(sum, src[offset[2] + j * along.src]);
    }
  }
}

template <class Y>
inline constexpr bool kHasAtomics =
    std::same_as<Y, float> || std::same_as<Y, double> || std::same_as<Y, int32_t> || std::same_as<Y, int64_t>;

template <class Y>
__device__ __forceinline__ void add_atomically(Y* sum, Y value) {
  if constexpr (std::same_as<Y, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
  } else {
    atomicAdd(sum, value);
  }
}

/// A thread a term. Operands: src, index, y without `dim`.
template <class Y, class S, class Index>
__global__ void __launch_bounds__(kThreads)
    add_terms(Geometry<3> geometry, int64_t y_along, int64_t y_size, Y* y, const Index* index, const S* src) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[3];
    geometry.offsets(i, offset);
    add_atomically(y + offset[2] + checked(index[offset[1]], y_size) * y_along, convert<Y>(src[offset[0]]));
  }
}

/// True when the slices alone keep the device busy, or are over soon.
bool prefers_slices(int64_t slices, int64_t count) { return count <= 32 || slices >= int64_t{1} << 16; }

template <class Y, class S, class Index>
void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
  const Indexed to(y, dim), from(src, dim);
  Dims slices(shape);
  Along along{1, to.along, 0, from.along, to.size};
  if (!slices.empty()) {
    const auto d = static_cast<size_t>(dim);
    along.count = slices[d];
    along.index = index_strides[d];
    slices[d] = 1;
  }
  if constexpr (kHasAtomics<Y>) {
    if (!prefers_slices(numel_of(slices), along.count)) {
      // Every term counts, also where nothing moves: make_walk would drop such a dimension.
      const auto geometry = logical_geometry<3>(shape, {src.strides(), index_strides, to.others});
      launch(add_terms<Y, S, Index>, grid_stride(geometry.numel), geometry, along.y, along.y_size, y.raw<Y>(),
             index.raw<Index>(), src.raw<S>());
      return;
    }
  }
  const auto geometry = make_geometry(kernels::make_walk<3>(slices, {to.others, index_strides, from.others}));
  launch(add_slices<Y, S, Index>, grid_stride(geometry.numel), geometry, along, y.raw<Y>(), index.raw<Index>(),
         src.raw<S>());
}

/// y at each place, with `dim`'s coordinate taken from the index, += src there.
void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
  if (numel_of(shape) == 0) return;
  const DeviceGuard on(y.device());
  visit_dtype(src.dtype(), [&]<class S>(S) {
    visit_index(index.dtype(), [&]<class Index>(Index) {
      if (y.dtype() == dtype_of<S>) return add<S, S, Index>(y, dim, index, index_strides, src, shape);
      if constexpr (is_reduced_floating_point(dtype_of<S>)) {  // sums of 16-bit terms held in f32
        add<float, S, Index>(y, dim, index, index_strides, src, shape);
      }
    });
  });
}

}  // namespace

void gather(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index) {
  take(y, x, dim, index, Dims(index.strides()));
}

void index_select(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index) {
  take(y, x, dim, index, expanded(index, x.dim(), dim));
}

void scatter_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src) {
  add(y, dim, index, Dims(index.strides()), src, index.sizes());
}

void index_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src) {
  add(y, dim, index, expanded(index, y.dim(), dim), src, src.sizes());
}

}  // namespace tandem::cuda
