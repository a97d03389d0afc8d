#pragma once
// Folds of rows in lanes, for files under simd/.
#include <cstdint>

#include "tandem/base/macros.h"

namespace tandem::cpu::TANDEM_SIMD {

inline constexpr int kFoldLanes = 32;

/// Combines the lanes, which it overwrites.
template <class T, class Combine>
TANDEM_MATH T fold_lanes(T* lanes, Combine combine) {
  for (int half = kFoldLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

/// Combines term(i) for i < n, in lanes that the compiler keeps in registers; `nothing` is the neutral element. The
/// order depends on n alone.
template <class T, class Term, class Combine>
TANDEM_MATH T fold(int64_t n, T nothing, Term term, Combine combine) {
  if (n < kFoldLanes / 2) {  // filling and combining lanes would take longer
    T total = nothing;
    for (int64_t i = 0; i < n; ++i) total = combine(total, term(i));
    return total;
  }
  T lanes[kFoldLanes];
  for (int l = 0; l < kFoldLanes; ++l) lanes[l] = nothing;
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    for (int l = 0; l < kFoldLanes; ++l) lanes[l] = combine(lanes[l], term(i + l));
  }
  for (int l = 0; i + l < n; ++l) lanes[l] = combine(lanes[l], term(i + l));
  return fold_lanes(lanes, combine);
}

/// The sum of term(i) for i < n in T.
template <class T, class Term>
TANDEM_MATH T fold_sum(int64_t n, Term term) {
  return fold<T>(n, T(0), term, [](T p, T q) { return p + q; });
}

/// The sums of two terms over i < n, in T: term(i, a, b) adds them to a and b.
template <class T, class Term>
TANDEM_MATH void fold_two_sums(int64_t n, T& first, T& second, Term term) {
  T p[kFoldLanes], q[kFoldLanes];
  for (int l = 0; l < kFoldLanes; ++l) p[l] = q[l] = T(0);
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    for (int l = 0; l < kFoldLanes; ++l) term(i + l, p[l], q[l]);
  }
  for (int l = 0; i + l < n; ++l) term(i + l, p[l], q[l]);
  const auto sum = [](T p, T q) { return p + q; };
  first = fold_lanes(p, sum);
  second = fold_lanes(q, sum);
}

}  // namespace tandem::cpu::TANDEM_SIMD
