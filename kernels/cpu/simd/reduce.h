#pragma once
// Table of folds: reduce many elements of a compute type to one accumulator or to a row of them.
#include "kernels/cpu/simd/by_compute.h"
#include "kernels/fold.h"

namespace tandem::cpu {

using kernels::Accumulator;
using kernels::Fold;

/// The largest number of columns that ReduceTable::columns accepts.
inline constexpr int64_t kFoldColumns = 1024;

template <class T>
struct ReduceTable {
  using A = Accumulator<T>;
  /// The fold of n elements.
  A (*row)(Fold fold, const T* x, int64_t n, A shift);
  /// acc_j = combine(acc_j, fold over r of x[r row_stride + j]) for j < columns <= kFoldColumns; shift_j.
  void (*columns)(Fold fold, A* acc, const T* x, int64_t rows, int64_t row_stride, int64_t columns, const A* shift);
  A (*combine)(Fold fold, A a, A b);
  /// The fold of no elements.
  A (*identity)(Fold fold);
};
TANDEM_SIMD_TABLE(ByCompute<ReduceTable>, reduce_tables)

}  // namespace tandem::cpu
