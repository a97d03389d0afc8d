#pragma once
// Folds: run-time selection of the reduction formulas of math/reduce.h by name.
#include <type_traits>

#include "tandem/backend.h"
#include "tandem/math/reduce.h"

namespace tandem::kernels {

#define TANDEM_FOLDS(X) \
  X(sum) X(prod) X(max) X(min) X(any) X(all) X(sum_abs) X(max_abs) X(sum_squares) X(squared_deviation)

enum class Fold : uint8_t {
#define TANDEM_ENUM(NAME) NAME,
  TANDEM_FOLDS(TANDEM_ENUM)
#undef TANDEM_ENUM
};

/// The fold of a reduction; the division of a mean and the root of a norm follow it.
inline Fold fold_of(Reduction op) {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean:
      return Fold::sum;
    case Reduction::prod:
      return Fold::prod;
    case Reduction::max:
      return Fold::max;
    case Reduction::min:
      return Fold::min;
    case Reduction::any:
      return Fold::any;
    case Reduction::all:
      return Fold::all;
    case Reduction::norm1:
      return Fold::sum_abs;
    case Reduction::norm2:
    case Reduction::sum_squares:
    case Reduction::mean_squares:
      return Fold::sum_squares;
    case Reduction::norm_inf:
      return Fold::max_abs;
  }
  return Fold::sum;
}

/// Whether the fold is followed by a division by the number of elements.
inline bool is_mean(Reduction op) { return op == Reduction::mean || op == Reduction::mean_squares; }

/// The dtype in which x is reduced to y. Squares are f64 from the start, also those of f32.
inline DType operands_of(Reduction op, DType x, DType y) {
  return y == DType::Bool || fold_of(op) == Fold::sum_squares ? x : promote_types(x, y);
}

/// f64 for floating-point numbers, i64 for integers. A class, because compilers mangle std::is_same_v differently, and
/// the tests find nvcc's kernels by the names that g++ gives them.
template <class T>
struct AccumulatorOf {
  using Type = double;
};
template <>
struct AccumulatorOf<int64_t> {
  using Type = int64_t;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::Type;

/// Combines two partial results.
template <class A>
TANDEM_MATH A combine(Fold fold, A a, A b) {
  switch (fold) {
#define TANDEM_CASE(NAME) \
  case Fold::NAME:        \
    return math::fold::NAME::combine(a, b);
    TANDEM_FOLDS(TANDEM_CASE)
#undef TANDEM_CASE
  }
  return a;
}

/// The result for no elements.
template <class A>
TANDEM_MATH A fold_of_nothing(Fold fold, A shift) {
  switch (fold) {
#define TANDEM_CASE(NAME) \
  case Fold::NAME:        \
    return math::fold::NAME::map(math::fold::NAME::padding(shift), shift);
    TANDEM_FOLDS(TANDEM_CASE)
#undef TANDEM_CASE
  }
  return shift;
}

}  // namespace tandem::kernels
