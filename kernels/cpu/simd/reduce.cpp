// Folds of contiguous rows and of columns. Contract: the order of operations depends on n alone, not on alignment or
// the number of threads and, except for squared deviations, not on the instruction set. f32 elements are summed in f32
// over at most 32 terms, and those sums in f64; products and squares are f64 from the start, and so are sums of f32
// that are not finite in f32.
#include "kernels/cpu/simd/reduce.h"

#include "tandem/math/reduce.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

/// The type of a lane in a fold over T.
template <class Op, class T>
struct LaneOf {
  using type = T;
};
template <>
struct LaneOf<math::fold::prod, float> {
  using type = double;
};
template <>
struct LaneOf<math::fold::sum_squares, float> {
  using type = double;
};
template <>
struct LaneOf<math::fold::squared_deviation, float> {
  using type = double;
};

/// Folds n <= kBlock elements. Element i goes to lane i % kLanes, so that compilers keep the lanes in vector registers.
template <class Op, class T, class Lane>
Lane fold_block(const T* x, int64_t n, Lane shift) {
  constexpr int kLanes = sizeof(Lane) == 4 ? 32 : 16;
  Lane lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = Op::map(Op::padding(shift), shift);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = Op::combine(lanes[l], Op::map(static_cast<Lane>(x[i + l]), shift));
  }
  if (i < n) {
    Lane tail[kLanes];
    for (int l = 0; l < kLanes; ++l) tail[l] = Op::padding(shift);
    for (int l = 0; i + l < n; ++l) tail[l] = static_cast<Lane>(x[i + l]);
    for (int l = 0; l < kLanes; ++l) lanes[l] = Op::combine(lanes[l], Op::map(tail[l], shift));
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = Op::combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <class Op, class T>
Accumulator<T> fold_row(const T* x, int64_t n, Accumulator<T> shift) {
  using A = Accumulator<T>;
  using Lane = typename LaneOf<Op, T>::type;
  constexpr int64_t kBlock = 1024;
  A result = Op::map(Op::padding(shift), shift);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = n - i < kBlock ? n - i : kBlock;
    const Lane block = fold_block<Op>(x + i, count, static_cast<Lane>(shift));
    const bool is_exact = std::is_same_v<Lane, A> || block - block == Lane(0);
    result = Op::combine(result, is_exact ? static_cast<A>(block) : fold_block<Op>(x + i, count, shift));
  }
  return result;
}

template <class Op, class T>
void fold_columns(Accumulator<T>* acc, const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                  const Accumulator<T>* shift) {
  using A = Accumulator<T>;
  using Lane = typename LaneOf<Op, T>::type;
  constexpr int64_t kRows = 32;
  Lane shifts[kFoldColumns], block[kFoldColumns];
  for (int64_t j = 0; j < columns; ++j) shifts[j] = shift ? static_cast<Lane>(shift[j]) : Lane(0);
  for (int64_t begin = 0; begin < rows; begin += kRows) {
    const int64_t end = rows - begin < kRows ? rows : begin + kRows;
    for (int64_t j = 0; j < columns; ++j) block[j] = Op::map(Op::padding(shifts[j]), shifts[j]);
    int64_t r = begin;
    for (; r + 4 <= end; r += 4) {
      const T *x0 = x + r * row_stride, *x1 = x0 + row_stride, *x2 = x1 + row_stride, *x3 = x2 + row_stride;
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) {
        const Lane s = shifts[j];
        const Lane a = Op::combine(Op::map(static_cast<Lane>(x0[j]), s), Op::map(static_cast<Lane>(x1[j]), s));
        const Lane b = Op::combine(Op::map(static_cast<Lane>(x2[j]), s), Op::map(static_cast<Lane>(x3[j]), s));
        block[j] = Op::combine(block[j], Op::combine(a, b));
      }
    }
    for (; r < end; ++r) {
      const T* x0 = x + r * row_stride;
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) {
        block[j] = Op::combine(block[j], Op::map(static_cast<Lane>(x0[j]), shifts[j]));
      }
    }
    if constexpr (!std::is_same_v<Lane, A>) {
      Lane not_finite = 0;
#pragma omp simd reduction(+ : not_finite)
      for (int64_t j = 0; j < columns; ++j) not_finite += block[j] - block[j];
      for (int64_t j = 0; j < columns && not_finite != Lane(0); ++j) {
        const A s = shift ? shift[j] : A(0);
        for (r = begin; r < end; ++r) acc[j] = Op::combine(acc[j], Op::map(static_cast<A>(x[r * row_stride + j]), s));
      }
      if (not_finite != Lane(0)) continue;
    }
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::combine(acc[j], static_cast<A>(block[j]));
  }
}

template <class T>
Accumulator<T> row(Fold fold, const T* x, int64_t n, Accumulator<T> shift) {
  switch (fold) {
#define TANDEM_CASE(NAME) \
  case Fold::NAME:        \
    return fold_row<math::fold::NAME>(x, n, shift);
    TANDEM_FOLDS(TANDEM_CASE)
#undef TANDEM_CASE
  }
  return 0;
}

template <class T>
void columns(Fold fold, Accumulator<T>* acc, const T* x, int64_t rows, int64_t row_stride, int64_t columns,
             const Accumulator<T>* shift) {
  switch (fold) {
#define TANDEM_CASE(NAME) \
  case Fold::NAME:        \
    return fold_columns<math::fold::NAME>(acc, x, rows, row_stride, columns, shift);
    TANDEM_FOLDS(TANDEM_CASE)
#undef TANDEM_CASE
  }
}

// Wrappers: the functions of kernels/fold.h are always inlined and have no address.
template <class A>
A combine(Fold fold, A a, A b) {
  return kernels::combine(fold, a, b);
}

template <class A>
A identity(Fold fold) {
  return kernels::fold_of_nothing(fold, A(0));
}

template <class T>
constexpr ReduceTable<T> table() {
  return {row<T>, columns<T>, combine<Accumulator<T>>, identity<Accumulator<T>>};
}

}  // namespace

const ByCompute<ReduceTable> reduce_tables = {table<float>(), table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
