#pragma once
// Formulas of products and distances of two rows: the terms, how they are combined, and the derivative of a distance.
#include <cmath>

#include "tandem/math/power.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// What is computed from two rows. dot: sum a b; count: number of a != b; sum: sum |a - b|; squares: sum (a - b)^2;
/// largest: max |a - b|; powers: sum |a - b|^p.
enum class Pair : uint8_t { dot, count, sum, squares, largest, powers };

/// The distance of order p >= 0.
constexpr Pair distance_pair(double p) {
  if (p == 0) return Pair::count;
  if (p == 1) return Pair::sum;
  if (p == 2) return Pair::squares;
  return p == kInf<double> ? Pair::largest : Pair::powers;
}

template <Pair kPair, class T>
TANDEM_MATH T pair_term(T a, T b, T p) {
  if constexpr (kPair == Pair::dot) return a * b;
  if constexpr (kPair == Pair::count) return a != b ? T(1) : T(0);
  const T d = abs(a - b);
  if constexpr (kPair == Pair::squares) return d * d;
  if constexpr (kPair == Pair::powers) return pow(d, p);
  return d;
}

template <Pair kPair, class T>
TANDEM_MATH T combine_pair(T total, T term) {
  if constexpr (kPair == Pair::largest) {
    return maximum(total, term);
  } else {
    return total + term;
  }
}

/// Whether f32 held the terms of a sum: none overflowed, and those that were too small do not matter. Other sums are
/// computed again in f64.
template <Pair kPair>
TANDEM_MATH bool is_exact_pair(double total) {
  constexpr double least = kPair == Pair::sum || kPair == Pair::largest || kPair == Pair::count ? 0 : 0x1p-90;
  const double size = abs(total);
  return bool((size >= least) & (size <= 0x1p126));
}

/// The result from the combined terms.
template <Pair kPair>
TANDEM_MATH double finish_pair(double total, double p) {
  if constexpr (kPair == Pair::squares) return ::sqrt(total);
  if constexpr (kPair == Pair::powers) return pow(total, 1 / p);
  return total;
}

/// d distance / d a for d = a - b; 0 where there is no derivative.
template <Pair kPair, class T>
TANDEM_MATH T distance_slope(T d, T distance, T p) {
  const T sign = d > 0 ? T(1) : d < 0 ? T(-1) : d - d;  // NaN stays NaN
  if constexpr (kPair == Pair::sum) return sign;
  if constexpr (kPair == Pair::squares) return distance == 0 ? T(0) : d / distance;
  if constexpr (kPair == Pair::largest) return abs(d) == distance ? sign : T(0);
  if constexpr (kPair == Pair::powers) {
    if (d == 0) return T(0);
    // For p < 1 the quotient may be too small, but the powers are in range.
    return sign * (p < 1 ? pow(abs(d), p - 1) * pow(distance, 1 - p) : pow(abs(d) / distance, p - 1));
  }
  return T(0);
}

}  // namespace tandem::math
#pragma GCC visibility pop
