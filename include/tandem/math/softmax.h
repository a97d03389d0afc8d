#pragma once
// The formulas of softmax, log-softmax and cross entropy and of their derivatives, element by element; `max` and the
// sums run over the dimension.
#include "tandem/math/approx.h"

namespace tandem::math {

/// The element's term of the sum.
template <class T>
TANDEM_MATH T softmax_term(T x, T max) {
  return exp(x - max);
}
/// log softmax(x) = (x - max) - log(sum of terms).
template <class T>
TANDEM_MATH T log_softmax(T x, T max, T log_sum) {
  return (x - max) - log_sum;
}
/// gx = y (gy - sum(gy y)).
template <class T>
TANDEM_MATH T softmax_backward(T gy, T y, T dot) {
  return y * (gy - dot);
}
/// gx = gy - exp(y) sum(gy), y = log softmax(x).
template <class T>
TANDEM_MATH T log_softmax_backward(T gy, T y, T sum) {
  return gy - exp(y) * sum;
}
/// The loss of a row from x at its target: -w log softmax(x).
template <class T>
TANDEM_MATH T cross_entropy(T x, T max, T log_sum, T weight) {
  return -(weight * log_softmax(x, max, log_sum));
}
/// d/dx of s times a row's -log softmax(x)[target]: s softmax(x); at the target it is less by s.
template <class T>
TANDEM_MATH T cross_entropy_backward(T x, T max, T log_sum, T s) {
  return exp(log_softmax(x, max, log_sum)) * s;
}

}  // namespace tandem::math
