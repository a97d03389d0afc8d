#pragma once
// Formulas of softmax, log-softmax and cross entropy and of their derivatives, for one element. `max` and the sums are
// over the dimension.
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The element's term in the sum.
template <class T>
TANDEM_MATH T softmax_term(T x, T max) {
  return exp(x - max);
}
/// The same for max >= x - 88, without subnormal results.
template <class T>
TANDEM_MATH T softmax_weight(T x, T max) {
  return exp_of_weight(x - max);
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
/// The loss of a row, given x at its target: -weight log softmax(x).
template <class T>
TANDEM_MATH T cross_entropy(T x, T max, T log_sum, T weight) {
  return -(weight * log_softmax(x, max, log_sum));
}
/// d/dx of -s log softmax(x)[target]: s softmax(x). For the target element, the caller subtracts s.
template <class T>
TANDEM_MATH T cross_entropy_backward(T x, T max, T log_sum, T s) {
  return exp(log_softmax(x, max, log_sum)) * s;
}

}  // namespace tandem::math
#pragma GCC visibility pop
