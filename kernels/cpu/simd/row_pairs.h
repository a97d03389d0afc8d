#pragma once
// Products and distances of two rows, and the gradients of distances, for f32 and f64.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"
#include "tandem/math/distance.h"

namespace tandem::cpu {

template <class T>
struct RowPairFunctions {
  /// The product or distance of a and b.
  double (*fold)(math::Pair pair, const T* a, const T* b, int64_t n, double p);
  /// sum of gy_i d distance_i / d a_i
  double (*gradient)(math::Pair pair, const T* gy, const T* distance, const T* a, const T* b, int64_t n, double p);
};

struct RowPairTable {
  RowPairFunctions<float> f32;
  RowPairFunctions<double> f64;

  template <class T>
  const RowPairFunctions<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};
TANDEM_SIMD_TABLE(RowPairTable, row_pair_table)

}  // namespace tandem::cpu
