#pragma once
// Compute types of element-wise kernels and their numeric parameters, equal on all backends.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tandem/backend.h"
#include "tandem/math/ternary.h"

namespace tandem::kernels {

/// The type in which values of type t are computed: f32, f64 or i64.
constexpr DType compute_type(DType t) {
  return t == DType::F64 ? DType::F64 : is_floating_point(t) ? DType::F32 : DType::I64;
}

/// Calls f(C{}) with the C++ type of a compute type.
template <class F>
decltype(auto) visit_compute(DType compute, F&& f) {
  if (compute == DType::F32) return f(float{});
  if (compute == DType::F64) return f(double{});
  return f(int64_t{});
}

/// Calls f(T{}) with the C++ type of a floating dtype.
template <class F>
void visit_floating(DType dtype, F&& f) {
  visit_arithmetic_dtype(dtype, [&]<class T>(T zero) {
    if constexpr (is_floating_point(dtype_of<T>)) f(zero);
  });
}

/// What floating values of type T are computed in: double for double, else float.
template <class T>
using FloatingCompute = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Calls f(C{}) with what floating values of the dtype are computed in: double for f64, else float.
template <class F>
decltype(auto) visit_floating_compute(DType dtype, F&& f) {
  return dtype == DType::F64 ? f(double{}) : f(float{});
}

/// The numeric parameter in the compute type. For i64 it is clamped to the limits, so that clamp to infinity means no
/// limit.
template <class C>
C parameter(double v) {
  if constexpr (std::is_same_v<C, int64_t>) {
    if (!(v < 0x1p63)) return std::isnan(v) ? 0 : std::numeric_limits<int64_t>::max();
    if (v < -0x1p63) return std::numeric_limits<int64_t>::min();
  }
  return static_cast<C>(v);
}

/// y + s as an element of y's dtype: rounded once, integers modulo 2^bits, bools by or.
template <class Y, class S>
TANDEM_HOST_DEVICE inline Y sum_of(Y y, S s) {
  if constexpr (std::is_same_v<Y, bool>) {
    return y || s;
  } else if constexpr (std::is_integral_v<Y>) {
    return static_cast<Y>(static_cast<uint64_t>(y) + static_cast<uint64_t>(s));
  } else if constexpr (std::is_same_v<Y, double>) {
    return y + static_cast<double>(s);
  } else {
    return Y(static_cast<float>(y) + static_cast<float>(s));
  }
}

/// Throws NotImplementedError: the formula is not defined for these numbers.
[[noreturn]] void throw_undefined_formula(Unary op, DType compute);
[[noreturn]] void throw_undefined_formula(Binary op, DType compute);
[[noreturn]] void throw_undefined_formula(Ternary op, DType compute);

}  // namespace tandem::kernels
