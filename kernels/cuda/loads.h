#pragma once
// Loads and stores of several elements whose dtype is known only at run time, with one switch for all of them, so that
// the accesses overlap. Also vectors of parameters.
#include "kernels/cuda/element.h"
#include "kernels/cuda/runs.h"

namespace tandem::cuda {

/// Elements that one thread processes at a time.
inline constexpr int kPerThread = 8;

/// is_floating_point of a C++ element type, for device code.
template <class T>
inline constexpr bool kIsFloating = is_floating_point(dtype_of<T>);

/// The dtypes that a load or store of runs converts; fewer make a smaller kernel. With `all` an integer C converts no
/// floating dtypes.
enum class Dtypes { floating, floating_and_bytes, all };

/// Whether T is among them.
template <class C, class T, Dtypes kDtypes>
inline constexpr bool kConverts = kIsFloating<T> ? std::is_floating_point_v<C>
                                                 : kDtypes == Dtypes::all ||
                                                       (kDtypes == Dtypes::floating_and_bytes && sizeof(T) == 1);

/// Loads `Runs` runs of `Length` elements as C. Run u starts at element at(u), which is a multiple of Length in aligned
/// memory. If at(u) is negative, the run's values are 0.
template <class C, int Runs, int Length, Dtypes kDtypes = Dtypes::floating, class At>
__device__ __forceinline__ void load_runs(const void* data, DType t, C (&v)[Runs * Length], At at) {
  switch (t) {
#define TANDEM_LOAD(NAME, CPP)                                                                                        \
  case DType::NAME:                                                                                                   \
    if constexpr (kConverts<C, CPP, kDtypes>) {                                                                       \
      constexpr int kBytes = 16 / static_cast<int>(sizeof(CPP)), kPack = Length < kBytes ? Length : kBytes;           \
      _Pragma("unroll") for (int u = 0; u < Runs; ++u) {                                                              \
        const int64_t first = at(u);                                                                                  \
        _Pragma("unroll") for (int p = 0; p < Length / kPack; ++p) {                                                  \
          Pack<CPP, kPack> pack{};                                                                                    \
          if (first >= 0) pack = reinterpret_cast<const Pack<CPP, kPack>*>(static_cast<const CPP*>(data) + first)[p]; \
          _Pragma("unroll") for (int j = 0; j < kPack; ++j) v[u * Length + p * kPack + j] = convert<C>(pack.at[j]);   \
        }                                                                                                             \
      }                                                                                                               \
    }                                                                                                                 \
    return;
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
    default:
      break;
  }
}

/// The reverse of load_runs; nothing is written if at(u) is negative.
template <class C, int Runs, int Length, Dtypes kDtypes = Dtypes::floating, class At>
__device__ __forceinline__ void store_runs(void* data, DType t, const C (&v)[Runs * Length], At at) {
  switch (t) {
#define TANDEM_STORE(NAME, CPP)                                                                                       \
  case DType::NAME:                                                                                                   \
    if constexpr (kConverts<C, CPP, kDtypes>) {                                                                       \
      constexpr int kBytes = 16 / static_cast<int>(sizeof(CPP)), kPack = Length < kBytes ? Length : kBytes;           \
      _Pragma("unroll") for (int u = 0; u < Runs; ++u) {                                                              \
        const int64_t first = at(u);                                                                                  \
        if (first < 0) continue;                                                                                      \
        _Pragma("unroll") for (int p = 0; p < Length / kPack; ++p) {                                                  \
          Pack<CPP, kPack> pack;                                                                                      \
          _Pragma("unroll") for (int j = 0; j < kPack; ++j) pack.at[j] = convert<CPP>(v[u * Length + p * kPack + j]); \
          reinterpret_cast<Pack<CPP, kPack>*>(static_cast<CPP*>(data) + first)[p] = pack;                             \
        }                                                                                                             \
      }                                                                                                               \
    }                                                                                                                 \
    return;
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
    default:
      break;
  }
}

/// A vector of any stride and floating dtype, or none.
struct Vector {
  void* data = nullptr;
  DType dtype = DType::F32;
  int64_t stride = 0;

  Vector() = default;
  explicit Vector(const Tensor& x) {
    if (!x.defined()) return;
    data = x.raw_bytes();
    dtype = x.dtype();
    stride = x.strides()[0];
  }
  /// Element i as C, or `otherwise` if there is no vector.
  template <class C>
  __device__ C get(int64_t i, C otherwise) const {
    return data ? load<C>(data, dtype, i * stride) : otherwise;
  }
  template <class C>
  __device__ void set(int64_t i, C value) const {
    if (data) store<C>(data, dtype, i * stride, value);
  }
};

}  // namespace tandem::cuda
