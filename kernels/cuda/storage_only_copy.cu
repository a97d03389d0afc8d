// Copies that convert to or from dtypes that only hold values, in a kernel of their own: the others would need more
// registers. Contract: rounded once, to nearest even; values beyond the range as in PyTorch (base/float8.h).
#include "kernels/cuda/storage_only_copy.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/geometry.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/walk.h"

namespace tandem::cuda {
namespace {

template <class C, class T>
__device__ __forceinline__ C widened(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<C>(x);
  } else {
    return static_cast<C>(static_cast<float>(x));
  }
}

template <class T, class C>
__device__ __forceinline__ T narrowed(C x) {
  if constexpr (!std::is_integral_v<T>) {
    if constexpr (sizeof(C) == 8) return T(math::round_to_odd(static_cast<double>(x)));
    return T(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<C>) {
    return x < C(0x1p63) ? static_cast<T>(static_cast<int64_t>(x)) : static_cast<T>(x);  // negative wraps around
  } else {
    return static_cast<T>(x);
  }
}

/// Element i of an array of any dtype, as C.
template <class C>
__device__ __forceinline__ C load_any(const void* data, DType t, int64_t i) {
  switch (t) {
#define TANDEM_LOAD(NAME, CPP) \
  case DType::NAME:            \
    return widened<C>(static_cast<const CPP*>(data)[i]);
    TANDEM_FOR_EACH_STORAGE_ONLY_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
    default:
      return load<C>(data, t, i);
  }
}

template <class C>
__device__ __forceinline__ void store_any(void* data, DType t, int64_t i, C value) {
  switch (t) {
#define TANDEM_STORE(NAME, CPP)                        \
  case DType::NAME:                                    \
    static_cast<CPP*>(data)[i] = narrowed<CPP>(value); \
    return;
    TANDEM_FOR_EACH_STORAGE_ONLY_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
    default:
      return store<C>(data, t, i, value);
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    copy_each(Geometry<2> geometry, void* dst, DType to, const void* src, DType from) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[2];
    geometry.offsets(i, offset);
    store_any<C>(dst, to, offset[0], load_any<C>(src, from, offset[1]));
  }
}

bool fits_float(DType t) { return is_floating_point(t) && t != kDouble; }

}  // namespace

void copy_storage_only(const Tensor& dst, const Tensor& src) {
  const auto walk = kernels::make_walk<2>(dst.sizes(), {dst.strides(), src.strides()});
  const auto run = [&]<class C>(C) {
    launch(copy_each<C>, grid_stride(walk.numel), make_geometry(walk), dst.raw_bytes(), dst.dtype(),
           const_cast<const void*>(src.raw_bytes()), src.dtype());
  };
  if (!is_floating_point(dst.dtype()) && !is_floating_point(src.dtype())) {
    run(int64_t{});
  } else if (fits_float(src.dtype()) || dst.dtype() == kFloat) {
    run(float{});
  } else {
    run(double{});
  }
}

}  // namespace tandem::cuda
