#pragma once
// Elements in device code: loads and stores of any dtype in a compute type, and packs of 16 bytes.
//
// Contract: f16 and bf16 are widened on load and rounded once, to nearest even, on store (base/half.h); floating to
// integer truncates; to bool is 'not 0'.
#include "tandem/base/dtype.h"
#include "tandem/base/half.h"

namespace tandem::cuda {

/// What a value of type T is computed in: float for 16 bits.
template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Half> {
  using type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using type = float;
};

/// x as a To: one rounding, and 'not 0' for bool.
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<typename ComputeOf<From>::type>(x) != 0;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(static_cast<typename ComputeOf<From>::type>(x));
  }
}

/// Element i of an array of `t`, as a C.
template <class C>
__device__ __forceinline__ C load(const void* data, DType t, int64_t i) {
  switch (t) {
#define TANDEM_LOAD(NAME, CPP) \
  case DType::NAME:            \
    return convert<C>(static_cast<const CPP*>(data)[i]);
    TANDEM_FOR_EACH_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
  }
  return C();
}

template <class C>
__device__ __forceinline__ void store(void* data, DType t, int64_t i, C value) {
  switch (t) {
#define TANDEM_STORE(NAME, CPP)                       \
  case DType::NAME:                                   \
    static_cast<CPP*>(data)[i] = convert<CPP>(value); \
    return;
    TANDEM_FOR_EACH_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
  }
}

/// N elements that move in one access.
template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};

}  // namespace tandem::cuda
