#pragma once
// Table of folds: many elements of a compute type into one accumulator, or into a row of them.
#include <type_traits>

#include "kernels/cpu/simd/by_compute.h"

namespace tandem::cpu {

/// By the names of their formulas in math/reduce.h.
#define TANDEM_FOLDS(X) \
  X(sum) X(prod) X(max) X(min) X(any) X(all) X(sum_abs) X(max_abs) X(sum_squares) X(squared_deviation)

enum class Fold : uint8_t {
#define TANDEM_ENUM(NAME) NAME,
  TANDEM_FOLDS(TANDEM_ENUM)
#undef TANDEM_ENUM
};

/// f64 for floating numbers, i64 for integers.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, double>;

/// The widest block of columns that ReduceTable::columns takes.
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
