#pragma once
// Table of softmax and cross entropy over contiguous rows of a compute type (f32, f64). y may be x, gx may be gy.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

template <class T>
struct SoftmaxTable {
  void (*forward)(T* y, const T* x, int64_t n, bool log);
  void (*backward)(T* gx, const T* gy, const T* y, int64_t n, bool log);
  /// The row's maximum, and log(sum exp(x - max)).
  void (*normaliser)(T* max, T* log_sum, const T* x, int64_t n);
  /// gx = s softmax(x); the caller subtracts s at the target.
  void (*cross_entropy_backward)(T* gx, const T* x, int64_t n, T max, T log_sum, T s);
};

struct SoftmaxTables {
  SoftmaxTable<float> f32;
  SoftmaxTable<double> f64;
};
TANDEM_SIMD_TABLE(SoftmaxTables, softmax_tables)

}  // namespace tandem::cpu
