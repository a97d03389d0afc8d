#pragma once
// The row functions of recurrent layers, for f32 and f64. Rows of gates hold H values per gate, gate after gate, in
// PyTorch's order (math/recurrence.h). Input gates become their values after the activation functions. Rows do not
// overlap.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

template <class T>
struct RecurrenceRows {
  /// h = gates = tanh or relu of (gates + recurrent).
  void (*tanh)(T* gates, const T* recurrent, T* h, int64_t n);
  void (*relu)(T* gates, const T* recurrent, T* h, int64_t n);
  /// Updates c, and keeps it as it was.
  void (*lstm)(T* gates, const T* recurrent, T* c, T* kept, T* h, int64_t n);
  /// Keeps n's recurrent product.
  void (*gru)(T* gates, const T* recurrent, const T* previous, T* kept, T* h, int64_t n);

  /// The gradients of the gates before their activation functions. gy: optional, the rest of gh.
  void (*tanh_backward)(T* ggates, const T* gates, const T* gh, const T* gy, int64_t n);
  void (*relu_backward)(T* ggates, const T* gates, const T* gh, const T* gy, int64_t n);
  /// gc becomes the gradient of the state before the step.
  void (*lstm_backward)(T* ggates, const T* gates, const T* kept, const T* gh, const T* gy, T* gc, int64_t n);
  /// gh becomes the gradient of the state before the step, without its part in the recurrent products.
  void (*gru_backward)(T* ggates, T* grecurrent, const T* gates, const T* kept, const T* previous, T* gh, const T* gy,
                       int64_t n);
};

struct RecurrenceTable {
  RecurrenceRows<float> f32;
  RecurrenceRows<double> f64;

  template <class T>
  const RecurrenceRows<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};
TANDEM_SIMD_TABLE(RecurrenceTable, recurrence_table)

}  // namespace tandem::cpu
