#pragma once
// One table per compute type: f32 (to which f16 and bf16 are widened), f64 and i64.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

template <template <class> class Table>
struct ByCompute {
  Table<float> f32;
  Table<double> f64;
  Table<int64_t> i64;

  template <class T>
  const Table<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else if constexpr (static_cast<T>(0.5) != 0) {
      return f64;
    } else {
      return i64;
    }
  }
};

}  // namespace tandem::cpu
