#pragma once
// Folds of rows in lanes, for files under simd/.
#include <cstdint>

#include "tandem/base/macros.h"

namespace tandem::cpu::TANDEM_SIMD {

inline constexpr int kFoldLanes = 32;

/// Combines term(i) for i < n, in lanes that the compiler keeps in registers; `nothing` is the neutral element. The
/// order depends on n alone.
template <class T, class Term, class Combine>
TANDEM_MATH T fold(int64_t n, T nothing, Term term, Combine combine) {
  T lanes[kFoldLanes];
  for (int l = 0; l < kFoldLanes; ++l) lanes[l] = nothing;
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    for (int l = 0; l < kFoldLanes; ++l) lanes[l] = combine(lanes[l], term(i + l));
  }
  for (int l = 0; i + l < n; ++l) lanes[l] = combine(lanes[l], term(i + l));
  for (int half = kFoldLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

/// The sum of term(i) for i < n in T.
template <class T, class Term>
TANDEM_MATH T fold_sum(int64_t n, Term term) {
  return fold<T>(n, T(0), term, [](T p, T q) { return p + q; });
}

}  // namespace tandem::cpu::TANDEM_SIMD
