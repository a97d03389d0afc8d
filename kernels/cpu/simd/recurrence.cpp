// Rows of recurrent layers, by the formulas of math/recurrence.h.
#include "kernels/cpu/simd/recurrence.h"

#include "tandem/math/recurrence.h"
#include "tandem/math/unary.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

// The rows do not overlap.
#define TANDEM_ROW __restrict

template <class T>
void tanh_row(T* TANDEM_ROW gates, const T* TANDEM_ROW recurrent, T* TANDEM_ROW h, int64_t n) {
  for (int64_t i = 0; i < n; ++i) h[i] = gates[i] = math::tanh(gates[i] + recurrent[i]);
}

template <class T>
void relu_row(T* TANDEM_ROW gates, const T* TANDEM_ROW recurrent, T* TANDEM_ROW h, int64_t n) {
  for (int64_t i = 0; i < n; ++i) h[i] = gates[i] = math::relu(gates[i] + recurrent[i]);
}

template <class T>
void lstm_row(T* TANDEM_ROW gates, const T* TANDEM_ROW recurrent, T* TANDEM_ROW c, T* TANDEM_ROW kept, T* TANDEM_ROW h,
              int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const math::LstmGates<T> a =
        math::lstm_gates(gates[i] + recurrent[i], gates[n + i] + recurrent[n + i],
                         gates[2 * n + i] + recurrent[2 * n + i], gates[3 * n + i] + recurrent[3 * n + i]);
    const T before = c[i], after = math::lstm_cell_state(a, before);
    kept[i] = before;
    c[i] = after;
    h[i] = math::lstm_hidden_state(a, after);
    gates[i] = a.i;
    gates[n + i] = a.f;
    gates[2 * n + i] = a.g;
    gates[3 * n + i] = a.o;
  }
}

template <class T>
void gru_row(T* TANDEM_ROW gates, const T* TANDEM_ROW recurrent, const T* TANDEM_ROW previous, T* TANDEM_ROW kept,
             T* TANDEM_ROW h, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T product = recurrent[2 * n + i];
    const math::GruGates<T> a =
        math::gru_gates(gates[i] + recurrent[i], gates[n + i] + recurrent[n + i], gates[2 * n + i], product);
    kept[i] = product;
    h[i] = math::gru_hidden_state(a, previous[i]);
    gates[i] = a.r;
    gates[n + i] = a.z;
    gates[2 * n + i] = a.n;
  }
}

// The statements for each unit, given the gradient g of its state. The two loops keep the test out of the vectorised
// code.
#define TANDEM_FOR_UNITS(...)         \
  if (gy) {                           \
    for (int64_t i = 0; i < n; ++i) { \
      const T g = gh[i] + gy[i];      \
      __VA_ARGS__                     \
    }                                 \
  } else {                            \
    for (int64_t i = 0; i < n; ++i) { \
      const T g = gh[i];              \
      __VA_ARGS__                     \
    }                                 \
  }

template <class T>
void tanh_row_backward(T* TANDEM_ROW ggates, const T* TANDEM_ROW gates, const T* TANDEM_ROW gh, const T* TANDEM_ROW gy,
                       int64_t n) {
  TANDEM_FOR_UNITS(ggates[i] = g * (T(1) - gates[i] * gates[i]);)
}

template <class T>
void relu_row_backward(T* TANDEM_ROW ggates, const T* TANDEM_ROW gates, const T* TANDEM_ROW gh, const T* TANDEM_ROW gy,
                       int64_t n) {
  TANDEM_FOR_UNITS(ggates[i] = gates[i] > T(0) ? g : T(0);)
}

template <class T>
void lstm_row_backward(T* TANDEM_ROW ggates, const T* TANDEM_ROW gates, const T* TANDEM_ROW kept,
                       const T* TANDEM_ROW gh, const T* TANDEM_ROW gy, T* TANDEM_ROW gc, int64_t n) {
  TANDEM_FOR_UNITS({
    const math::LstmGates<T> a{gates[i], gates[n + i], gates[2 * n + i], gates[3 * n + i]};
    const math::LstmGradients<T> d = math::lstm_gradients(a, kept[i], g, gc[i]);
    ggates[i] = d.i;
    ggates[n + i] = d.f;
    ggates[2 * n + i] = d.g;
    ggates[3 * n + i] = d.o;
    gc[i] = d.c;
  })
}

template <class T>
void gru_row_backward(T* TANDEM_ROW ggates, T* TANDEM_ROW grecurrent, const T* TANDEM_ROW gates,
                      const T* TANDEM_ROW kept, const T* TANDEM_ROW previous, T* TANDEM_ROW gh, const T* TANDEM_ROW gy,
                      int64_t n) {
  TANDEM_FOR_UNITS({
    const math::GruGates<T> a{gates[i], gates[n + i], gates[2 * n + i]};
    const math::GruGradients<T> d = math::gru_gradients(a, kept[i], previous[i], g);
    ggates[i] = grecurrent[i] = d.r;
    ggates[n + i] = grecurrent[n + i] = d.z;
    ggates[2 * n + i] = d.n;
    grecurrent[2 * n + i] = d.rn;
    gh[i] = d.h;
  })
}

#undef TANDEM_FOR_UNITS
#undef TANDEM_ROW

}  // namespace

#define TANDEM_ROWS_OF(T)                                                                          \
  {                                                                                                \
    tanh_row<T>, relu_row<T>, lstm_row<T>, gru_row<T>, tanh_row_backward<T>, relu_row_backward<T>, \
        lstm_row_backward<T>, gru_row_backward<T>                                                  \
  }
const RecurrenceTable recurrence_table = {TANDEM_ROWS_OF(float), TANDEM_ROWS_OF(double)};

}  // namespace tandem::cpu::TANDEM_SIMD
