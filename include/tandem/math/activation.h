#pragma once
// Activations with parameters and their slopes, branch-free.
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The constants of SELU. Source: Klambauer et al., Self-Normalizing Neural Networks.
inline constexpr double kSeluAlpha = 1.6732632423543772848, kSeluScale = 1.0507009873554804934;

/// tanh(softplus(x)) as a quotient of polynomials of e^-|x|.
template <class T>
TANDEM_MATH T tanh_softplus(T x) {
  const T e = exp(-abs(x));
  const T above = T(1) + T(2) * e, below = e * (e + T(2));
  const bool left = x < T(0);
  return (left ? below : above) / (left ? below + T(2) : above + T(2) * e * e);
}
/// x tanh(softplus(x)), and the derivatives of mish and SiLU.
template <class T>
TANDEM_MATH T mish(T x) {
  return x * tanh_softplus(x);
}
template <class T>
TANDEM_MATH T mish_slope(T x) {
  const T t = tanh_softplus(x);
  return t + x * (T(1) - t * t) * sigmoid(x);
}
template <class T>
TANDEM_MATH T silu_slope(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}

/// alpha (e^(x scale) - 1) for x <= 0, else x.
template <class T>
TANDEM_MATH T elu(T x, T alpha, T scale) {
  const T y = alpha * expm1((x > T(0) ? T(0) : x) * scale);
  return x <= T(0) ? y : x;
}
/// log(1 + e^(beta x)) / beta, and x where beta x > threshold.
template <class T>
TANDEM_MATH T softplus(T x, T beta, T threshold) {
  const T z = x * beta;
  return z > threshold ? x : (maximum(z, T(0)) + log1p_exp_neg_abs(z)) / beta;
}

/// min(max(x + 3, 0), 6) / 6
template <class T>
TANDEM_MATH T hardsigmoid(T x) {
  return minimum(maximum(x + T(3), T(0)), T(6)) / T(6);
}
/// x hardsigmoid(x), and its derivative.
template <class T>
TANDEM_MATH T hardswish(T x) {
  return x * minimum(maximum(x + T(3), T(0)), T(6)) / T(6);
}
template <class T>
TANDEM_MATH T hardswish_slope(T x) {
  return x <= T(-3) ? T(0) : (x < T(3) ? x / T(3) + T(0.5) : T(1));
}
/// x moved towards 0 by `bound`, and 0 within it; NaN for NaN.
template <class T>
TANDEM_MATH T softshrink(T x, T bound) {
  return x > bound ? x - bound : (x < -bound ? x + bound : x * T(0));
}

}  // namespace tandem::math
#pragma GCC visibility pop
