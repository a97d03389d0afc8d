#pragma once
// One step of a recurrent cell, for one hidden unit, and its derivative.
//
// `x` holds the input products W_ih x + b_ih of the unit's gates, `r` the recurrent products W_hh h + b_hh. Gates are
// in PyTorch's order: i, f, g, o (LSTM) and r, z, n (GRU).
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The gates of an LSTM unit after their activation functions.
template <class T>
struct LstmGates {
  T i, f, g, o;
};
/// Applies the activation functions.
template <class T>
TANDEM_MATH LstmGates<T> lstm_gates(T i, T f, T g, T o) {
  return {sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)};
}
/// c' = f c + i g
template <class T>
TANDEM_MATH T lstm_cell_state(const LstmGates<T>& a, T c) {
  return a.f * c + a.i * a.g;
}
/// h' = o tanh(c')
template <class T>
TANDEM_MATH T lstm_hidden_state(const LstmGates<T>& a, T c) {
  return a.o * tanh(c);
}

/// The gradients of the four gates before their activation functions, and of the cell state before the step.
template <class T>
struct LstmGradients {
  T i, f, g, o, c;
};
/// From the gates, the cell state before the step, and the gradients of the new hidden and cell state.
template <class T>
TANDEM_MATH LstmGradients<T> lstm_gradients(const LstmGates<T>& a, T c, T gh, T gc) {
  const T t = tanh(lstm_cell_state(a, c));
  const T total = gc + gh * a.o * (T(1) - t * t);
  return {total * a.g * a.i * (T(1) - a.i), total * c * a.f * (T(1) - a.f), total * a.i * (T(1) - a.g * a.g),
          gh * t * a.o * (T(1) - a.o), total * a.f};
}

/// The gates of a GRU unit after their activation functions.
template <class T>
struct GruGates {
  T r, z, n;
};
/// n = tanh(xn + r rn): the reset gate acts after the recurrent product.
template <class T>
TANDEM_MATH GruGates<T> gru_gates(T r, T z, T xn, T rn) {
  const T reset = sigmoid(r);
  return {reset, sigmoid(z), tanh(xn + reset * rn)};
}
/// h' = (1 - z) n + z h
template <class T>
TANDEM_MATH T gru_hidden_state(const GruGates<T>& a, T h) {
  return a.n + a.z * (h - a.n);
}

/// The gradients of the three gates before their activation functions (of n: the input product), of n's recurrent
/// product, and of the hidden state before the step, without its part in the recurrent products.
template <class T>
struct GruGradients {
  T r, z, n, rn, h;
};
/// `rn`: n's recurrent product; `h`: the hidden state before the step; `gh`: the gradient of the new one.
template <class T>
TANDEM_MATH GruGradients<T> gru_gradients(const GruGates<T>& a, T rn, T h, T gh) {
  const T gn = gh * (T(1) - a.z) * (T(1) - a.n * a.n);
  return {gn * rn * a.r * (T(1) - a.r), gh * (h - a.n) * a.z * (T(1) - a.z), gn, gn * a.r, gh * a.z};
}

}  // namespace tandem::math
#pragma GCC visibility pop
