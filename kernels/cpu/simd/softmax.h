#pragma once
// Table of softmax over contiguous rows of a compute type (f32, f64). y may be x, gx may be gy.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

template <class T>
struct SoftmaxTable {
  void (*forward)(T* y, const T* x, int64_t n, bool log);
  void (*backward)(T* gx, const T* gy, const T* y, int64_t n, bool log);
};

struct SoftmaxTables {
  SoftmaxTable<float> f32;
  SoftmaxTable<double> f64;
};
TANDEM_SIMD_TABLE(SoftmaxTables, softmax_tables)

}  // namespace tandem::cpu
