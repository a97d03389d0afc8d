#pragma once
// Elements in device code: loads and stores of any dtype in a compute type, and packs of 16 bytes.
//
// Contract: f16 and bf16 are widened on load and rounded once, to nearest even, on store (base/half.h), also from f64.
// Floating to integer truncates. Conversion to bool is x != 0.
#include <type_traits>

#include "tandem/base/dtype.h"
#include "tandem/base/half.h"
#include "tandem/math/arithmetic.h"

namespace tandem::cuda {

/// The compute type of T: float for 16-bit types.
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

/// Calls f(T{}) with the C++ type of a floating dtype.
#pragma nv_exec_check_disable
template <class F>
TANDEM_HOST_DEVICE inline void visit_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f(float{});
    case DType::F16:
      return f(Half{});
    case DType::BF16:
      return f(BFloat16{});
    default:
      return f(double{});
  }
}

/// Calls f with two kernel flags as types.
template <class F>
void visit_flags(bool first, bool second, F f) {
  if (first) {
    second ? f(std::true_type(), std::true_type()) : f(std::true_type(), std::false_type());
  } else {
    second ? f(std::false_type(), std::true_type()) : f(std::false_type(), std::false_type());
  }
}

/// Converts x to To with one rounding; to bool it is x != 0.
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  using C = typename ComputeOf<From>::type;
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<C>(x) != 0;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    if constexpr (sizeof(C) == 8) return To(math::round_to_odd(static_cast<double>(x)));
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<C> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(static_cast<C>(x)));  // negative to unsigned wraps around
  } else {
    return static_cast<To>(static_cast<C>(x));
  }
}

/// Element i of an array of dtype `t`, converted to C.
template <class C>
__device__ __forceinline__ C load(const void* data, DType t, int64_t i) {
  switch (t) {
#define TANDEM_LOAD(NAME, CPP) \
  case DType::NAME:            \
    return convert<C>(static_cast<const CPP*>(data)[i]);
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
    default:
      break;
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
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
    default:
      break;
  }
}

/// Four elements that are loaded or stored together, aligned to at most 16 bytes.
template <class T>
struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Quad {
  T at[4];
};

/// Loads elements i to i + 3 of an array of dtype `t`, aligned to 16 bytes, as C; i is a multiple of 4.
template <class C>
__device__ __forceinline__ void load_quad(const void* data, DType t, int64_t i, C (&x)[4]) {
  switch (t) {
#define TANDEM_LOAD(NAME, CPP)                                                   \
  case DType::NAME: {                                                            \
    const Quad<CPP> quad = static_cast<const Quad<CPP>*>(data)[i / 4];           \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) x[j] = convert<C>(quad.at[j]); \
    return;                                                                      \
  }
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_LOAD)
#undef TANDEM_LOAD
    default:
      break;
  }
}

template <class C>
__device__ __forceinline__ void store_quad(void* data, DType t, int64_t i, const C (&x)[4]) {
  switch (t) {
#define TANDEM_STORE(NAME, CPP)                                                    \
  case DType::NAME: {                                                              \
    Quad<CPP> quad;                                                                \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) quad.at[j] = convert<CPP>(x[j]); \
    static_cast<Quad<CPP>*>(data)[i / 4] = quad;                                   \
    return;                                                                        \
  }
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_STORE)
#undef TANDEM_STORE
    default:
      break;
  }
}

/// N elements that are loaded or stored in one access.
template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};

}  // namespace tandem::cuda
