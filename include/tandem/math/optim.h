#pragma once
// Rules of optimizers: how one element of a parameter is updated. math/optim_rules.h has further rules.
//
// A rule is a struct of hyperparameters with
//   kRequired, kOptional  the states that it updates, up to three: bit k is state k. Optional ones may be absent.
//   kStepless             whether it also works without step counts: constants() is cheap and may ignore t
//   kScalar               whether it keeps a scalar for each tensor, besides the step count
//   Constants<T>          the hyperparameters in the compute type; `states` is set by the kernels to the states present
//   constants<T>(lr, t, scalar)            those of step t (from 1), computed in double; updates the tensor's scalar
//   update(p, g, s0, s1, s2, constants)    returns the parameter after the step and updates the states. `g` is the
//                                          unscaled gradient, negated by the caller for `maximize`.
#include <cmath>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

TANDEM_MATH float square_root(float x) { return ::sqrtf(x); }
TANDEM_MATH double square_root(double x) { return ::sqrt(x); }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDA_ARCH__)
#define TANDEM_HAS_FMA
#endif

/// a * b + c with a single rounding if the processor has fma. Used where c is a gradient: otherwise the compiler could
/// fuse the product g * (1 / scale) that c comes from, and a step that unscales while reading would give other
/// parameters than unscaling first and then stepping.
TANDEM_MATH float multiply_add(float a, float b, float c) {
#ifdef TANDEM_HAS_FMA
  return ::fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
TANDEM_MATH double multiply_add(double a, double b, double c) {
#ifdef TANDEM_HAS_FMA
  return ::fma(a, b, c);
#else
  return a * b + c;
#endif
}

#undef TANDEM_HAS_FMA

/// g + weight_decay p. If weight_decay is 0, p is not used, as in PyTorch: an infinite p does not cause NaN.
template <class T>
TANDEM_MATH T decayed_gradient(T g, T p, T weight_decay) {
  const T sum = multiply_add(weight_decay, p, g);
  return weight_decay != T(0) ? sum : g;
}

/// SGD. State: the momentum buffer, if momentum is not 0. Source: torch.optim.SGD.
struct Sgd {
  static constexpr unsigned kRequired = 0, kOptional = 0b001;
  static constexpr bool kStepless = true, kScalar = false;
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;

  template <class T>
  struct Constants {
    T lr, momentum, gradient_share;  ///< gradient_share: 1 - dampening
    T weight_decay;
    bool nesterov, first;  ///< first: the buffer's old value is ignored
    unsigned states;
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float&) const {
    return {static_cast<T>(lr),
            static_cast<T>(momentum),
            static_cast<T>(1 - dampening),
            static_cast<T>(weight_decay),
            nesterov,
            t == 1,
            0};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& buffer, T&, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    if ((c.states & 1) == 0) return p - c.lr * d;
    const T running = c.momentum * buffer + c.gradient_share * d;
    buffer = c.first ? d : running;
    const T ahead = multiply_add(c.momentum, buffer, d);
    return p - c.lr * (c.nesterov ? ahead : buffer);
  }
};

/// The larger of v and so_far; NaN if v is NaN.
template <class T>
TANDEM_MATH T running_maximum(T v, T so_far) {
  return v <= so_far ? so_far : v;
}

/// Adam and AdamW. States: the moments, and the largest second moment for amsgrad. Source: torch.optim.Adam, AdamW.
struct Adam {
  static constexpr unsigned kRequired = 0b011, kOptional = 0b100;
  static constexpr bool kStepless = false, kScalar = false;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  bool decoupled = false;  ///< AdamW

  template <class T>
  struct Constants {
    T beta1, beta2, share1, share2;  ///< share: 1 - beta
    T eps;
    T weight_decay;     ///< added to g; 0 if decoupled
    T keep;             ///< 1 - lr weight_decay if decoupled, else 1
    T step_size;        ///< lr / (1 - beta1^t)
    T root_correction;  ///< 1 / sqrt(1 - beta2^t)
    unsigned states;
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float&) const {
    return {static_cast<T>(beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta1),
            static_cast<T>(1 - beta2),
            static_cast<T>(eps),
            static_cast<T>(decoupled ? 0 : weight_decay),
            static_cast<T>(decoupled ? 1 - lr * weight_decay : 1),
            static_cast<T>(lr / (1 - ::pow(beta1, t))),
            static_cast<T>(1 / ::sqrt(1 - ::pow(beta2, t))),
            0};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T& v, T& v_max, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    m = c.beta1 * m + c.share1 * d;
    v = c.beta2 * v + c.share2 * d * d;
    T second = v;
    if ((c.states & 4) != 0) second = v_max = running_maximum(v, v_max);
    return p * c.keep - c.step_size * (m / (square_root(second) * c.root_correction + c.eps));
  }
};

}  // namespace tandem::math
#pragma GCC visibility pop
