#pragma once
// Tables of softmax and cross entropy over contiguous rows. y may be x, gx may be gy.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Rows of T, computed in C. bf16 is passed as its bits.
template <class T, class C>
struct SoftmaxTable {
  /// `work`: n elements, which may be y if T is C.
  void (*forward)(T* y, const T* x, C* work, int64_t n, bool log);
  void (*backward)(T* gx, const T* gy, const T* y, int64_t n, bool log);
};

template <class T>
struct CrossEntropyTable {
  /// The row's maximum, and log(sum exp(x - max)).
  void (*normaliser)(T* max, T* log_sum, const T* x, int64_t n);
  /// gx = s softmax(x); the caller subtracts s at the target.
  void (*backward)(T* gx, const T* x, int64_t n, T max, T log_sum, T s);
};

struct SoftmaxTables {
  SoftmaxTable<float, float> f32;
  SoftmaxTable<double, double> f64;
  SoftmaxTable<uint16_t, float> bf16;
  CrossEntropyTable<float> cross_entropy_f32;
  CrossEntropyTable<double> cross_entropy_f64;
};
TANDEM_SIMD_TABLE(SoftmaxTables, softmax_tables)

}  // namespace tandem::cpu
