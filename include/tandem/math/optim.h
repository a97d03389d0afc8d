#pragma once
// Optimizer updates of one element. `g` is unscaled.
#include <cmath>

#include "tandem/base/macros.h"

namespace tandem::math {

TANDEM_MATH float square_root(float x) { return ::sqrtf(x); }
TANDEM_MATH double square_root(double x) { return ::sqrt(x); }

/// a * b + c, in one rounding wherever the processor has it. Written out where c is a gradient: left to the compiler,
/// the product g * (1 / scale) that c comes from might be fused in instead, and a step that unscales as it reads would
/// leave other parameters than unscale, then step.
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

/// Hyper-parameters of SGD, converted once. `maximize` is a gradient of the other sign.
template <class T>
struct SgdConstants {
  T lr, momentum, gradient_share;  ///< gradient_share: 1 - dampening
  T weight_decay;
  bool nesterov;
};

/// g + weight_decay p. With weight_decay 0, p is left out, as in PyTorch: an inf there makes no NaN.
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

/// The same with momentum; changes `buffer`, whose old value counts for nothing when `first`. Source: torch.optim.SGD.
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

/// Constants of step `t` (1 for the first), computed in double.
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

/// The larger; NaN when v is NaN.
template <class T>
TANDEM_MATH T running_maximum(T v, T so_far) {
  return v <= so_far ? so_far : v;
}

/// The parameter after Adam's step; changes the moments m and v, and v_max when `amsgrad`.
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
