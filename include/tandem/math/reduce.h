#pragma once
// The formulas of reductions, for float, double and int64: `map` transforms an element x, `combine` merges two partial
// results, and `padding` is an element that does not change the result. Only squared_deviation uses `shift`.
#include <cstdint>

#include "tandem/math/approx.h"

#define TANDEM_FOLD(NAME, MAP, COMBINE, PADDING)              \
  struct NAME {                                               \
    template <class T>                                        \
    TANDEM_MATH static T map(T x, [[maybe_unused]] T shift) { \
      return MAP;                                             \
    }                                                         \
    template <class T>                                        \
    TANDEM_MATH static T combine(T a, T b) {                  \
      return COMBINE;                                         \
    }                                                         \
    template <class T>                                        \
    TANDEM_MATH static T padding([[maybe_unused]] T shift) {  \
      return PADDING;                                         \
    }                                                         \
  };

#pragma GCC visibility push(default)
namespace tandem::math {

/// -inf, or the smallest integer.
template <class T>
TANDEM_MATH T lowest() {
  if constexpr (static_cast<T>(0.5) != 0) {
    return -kInf<T>;
  } else {
    return static_cast<T>(uint64_t{1} << 63);
  }
}
/// inf, or the largest integer.
template <class T>
TANDEM_MATH T highest() {
  if constexpr (static_cast<T>(0.5) != 0) {
    return kInf<T>;
  } else {
    return static_cast<T>(~(uint64_t{1} << 63));
  }
}

template <class T>
TANDEM_MATH T squared(T x) {
  return mul(x, x);
}

}  // namespace tandem::math

namespace tandem::math::fold {

/// The folds by name; NaN propagates in max, min and max_abs.
TANDEM_FOLD(sum, x, math::add(a, b), T(0))
TANDEM_FOLD(prod, x, math::mul(a, b), T(1))
TANDEM_FOLD(max, x, math::maximum(a, b), math::lowest<T>())  // NaN propagates, also in min and max_abs
TANDEM_FOLD(min, x, math::minimum(a, b), math::highest<T>())
TANDEM_FOLD(any, T(x != T(0)), a > b ? a : b, T(0))
TANDEM_FOLD(all, T(x != T(0)), a < b ? a : b, T(1))
TANDEM_FOLD(sum_abs, math::abs(x), math::add(a, b), T(0))
TANDEM_FOLD(max_abs, math::abs(x), math::maximum(a, b), T(0))
TANDEM_FOLD(sum_squares, math::squared(x), math::add(a, b), T(0))
TANDEM_FOLD(squared_deviation, math::squared(math::sub(x, shift)), math::add(a, b), shift)

}  // namespace tandem::math::fold

#undef TANDEM_FOLD

namespace tandem::kernels {

/// Reductions of n elements. norm1: sum |x|; norm2: sqrt(sum x^2); norm_inf: max |x|; sum_squares: sum x^2;
/// mean_squares: sum x^2 / n.
enum class Reduction : uint8_t {
  sum,
  mean,
  prod,
  max,
  min,
  any,
  all,
  norm1,
  norm2,
  norm_inf,
  sum_squares,
  mean_squares
};

}  // namespace tandem::kernels
#pragma GCC visibility pop
