#pragma once
// Optimizer updates of one element. `g` is the unscaled gradient.
#include <cmath>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

TANDEM_MATH float square_root(float x) { return ::sqrtf(x); }
TANDEM_MATH double square_root(double x) { return ::sqrt(x); }

/// a * b + c with a single rounding if the processor has fma. Used where c is a gradient: otherwise the compiler could
/// fuse the product g * (1 / scale) that c comes from, and a step that unscales while reading would give other
/// parameters than unscaling first and then stepping.
TANDEM_MATH float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__)
  return ::fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
TANDEM_MATH double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__)
  return ::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Hyper-parameters of SGD, converted once. For `maximize`, the caller negates the gradient.
template <class T>
struct SgdConstants {
  T lr, momentum, gradient_share;  ///< gradient_share: 1 - dampening
  T weight_decay;
  bool nesterov;
};

/// g + weight_decay p. If weight_decay is 0, p is not used, as in PyTorch: an infinite p does not cause NaN.
template <class T>
TANDEM_MATH T decayed_gradient(T g, T p, T weight_decay) {
  const T sum = multiply_add(weight_decay, p, g);
  return weight_decay != T(0) ? sum : g;
}

/// p - lr (g + weight_decay p).
template <class T>
TANDEM_MATH T sgd(T p, T g, const SgdConstants<T>& c) {
  return p - c.lr * decayed_gradient(g, p, c.weight_decay);
}

/// sgd() with momentum. Updates `buffer`; its old value is ignored if `first`. Source: torch.optim.SGD.
template <class T>
TANDEM_MATH T sgd_momentum(T p, T g, T& buffer, bool first, const SgdConstants<T>& c) {
  const T d = decayed_gradient(g, p, c.weight_decay);
  const T running = c.momentum * buffer + c.gradient_share * d;
  buffer = first ? d : running;
  const T ahead = multiply_add(c.momentum, buffer, d);
  return p - c.lr * (c.nesterov ? ahead : buffer);
}

/// Hyper-parameters of Adam and AdamW at one step t, converted once.
template <class T>
struct AdamConstants {
  T beta1, beta2, share1, share2;  ///< share: 1 - beta
  T eps;
  T weight_decay;     ///< added to g; 0 for AdamW
  T keep;             ///< 1 - lr weight_decay for AdamW, else 1
  T step_size;        ///< lr / (1 - beta1^t)
  T root_correction;  ///< 1 / sqrt(1 - beta2^t)
};

/// Returns the constants of step `t` (from 1), computed in double.
template <class T>
TANDEM_MATH AdamConstants<T> adam_constants(double lr, double beta1, double beta2, double eps, double weight_decay,
                                            bool decoupled, double t) {
  return {static_cast<T>(beta1),
          static_cast<T>(beta2),
          static_cast<T>(1 - beta1),
          static_cast<T>(1 - beta2),
          static_cast<T>(eps),
          static_cast<T>(decoupled ? 0 : weight_decay),
          static_cast<T>(decoupled ? 1 - lr * weight_decay : 1),
          static_cast<T>(lr / (1 - ::pow(beta1, t))),
          static_cast<T>(1 / ::sqrt(1 - ::pow(beta2, t)))};
}

/// The larger of v and so_far; NaN if v is NaN.
template <class T>
TANDEM_MATH T running_maximum(T v, T so_far) {
  return v <= so_far ? so_far : v;
}

/// Returns the parameter after Adam's step. Updates the moments m and v, and v_max if `amsgrad`.
/// Source: torch.optim.Adam, AdamW.
template <bool amsgrad, class T>
TANDEM_MATH T adam(T p, T g, T& m, T& v, T& v_max, const AdamConstants<T>& c) {
  const T d = decayed_gradient(g, p, c.weight_decay);
  m = c.beta1 * m + c.share1 * d;
  v = c.beta2 * v + c.share2 * d * d;
  if constexpr (amsgrad) v_max = running_maximum(v, v_max);
  const T second = amsgrad ? v_max : v;
  return p * c.keep - c.step_size * (m / (square_root(second) * c.root_correction + c.eps));
}

}  // namespace tandem::math
#pragma GCC visibility pop
