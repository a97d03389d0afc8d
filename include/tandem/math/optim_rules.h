#pragma once
// Further rules of optimizers; math/optim.h explains what a rule has.
#include "tandem/math/optim.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// RMSprop. States: the averages of g^2, the momentum buffer if momentum is above 0, and the averages of g if centered.
/// Source: Hinton, "Lecture 6e" (2012); Graves, "Generating Sequences With Recurrent Neural Networks" (2013) for the
/// centered variant; torch.optim.RMSprop.
struct RmsProp {
  static constexpr unsigned kRequired = 0b001, kOptional = 0b110;
  static constexpr bool kStepless = false, kScalar = false;
  double alpha = 0, eps = 0, weight_decay = 0, momentum = 0;

  template <class T>
  struct Constants {
    T lr, alpha, share, eps, weight_decay, momentum;  ///< share: 1 - alpha
    unsigned states;
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double, float&) const {
    return {static_cast<T>(lr),
            static_cast<T>(alpha),
            static_cast<T>(1 - alpha),
            static_cast<T>(eps),
            static_cast<T>(weight_decay),
            static_cast<T>(momentum),
            0};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& square, T& buffer, T& mean, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    square = c.alpha * square + c.share * d * d;
    T variance = square;
    if ((c.states & 4) != 0) {
      mean = c.alpha * mean + c.share * d;
      variance = square - mean * mean;
      // Rounding can make the variance of nearly constant gradients negative; its root in PyTorch is then NaN.
      variance = variance < T(0) ? T(0) : variance;
    }
    const T ratio = d / (square_root(variance) + c.eps);
    if ((c.states & 2) == 0) return p - c.lr * ratio;
    buffer = c.momentum * buffer + ratio;
    return p - c.lr * buffer;
  }
};

/// Adagrad. State: the sum of g^2. Source: Duchi et al., "Adaptive Subgradient Methods" (2011); torch.optim.Adagrad.
struct Adagrad {
  static constexpr unsigned kRequired = 0b001, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = false;
  double lr_decay = 0, eps = 0, weight_decay = 0;

  template <class T>
  struct Constants {
    T step_size, eps, weight_decay;  ///< step_size: lr / (1 + (t - 1) lr_decay)
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float&) const {
    return {static_cast<T>(lr / (1 + (t - 1) * lr_decay)), static_cast<T>(eps), static_cast<T>(weight_decay)};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& sum, T&, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    sum = sum + d * d;
    return p - c.step_size * (d / (square_root(sum) + c.eps));
  }
};

/// Adadelta. States: the averages of g^2 and of the squared updates. Source: Zeiler, "ADADELTA: An Adaptive Learning
/// Rate Method" (2012); torch.optim.Adadelta.
struct Adadelta {
  static constexpr unsigned kRequired = 0b011, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = false;
  double rho = 0, eps = 0, weight_decay = 0;

  template <class T>
  struct Constants {
    T lr, rho, share, eps, weight_decay;  ///< share: 1 - rho
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double, float&) const {
    return {static_cast<T>(lr), static_cast<T>(rho), static_cast<T>(1 - rho), static_cast<T>(eps),
            static_cast<T>(weight_decay)};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& square, T& delta_square, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    square = c.rho * square + c.share * d * d;
    const T delta = square_root(delta_square + c.eps) / square_root(square + c.eps) * d;
    delta_square = c.rho * delta_square + c.share * delta * delta;
    return p - c.lr * delta;
  }
};

/// Adamax. States: the average of g and the decaying maximum of |g|. Source: Kingma and Ba, "Adam: A Method for
/// Stochastic Optimization" (2014), section 7; torch.optim.Adamax.
struct Adamax {
  static constexpr unsigned kRequired = 0b011, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = false;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;

  template <class T>
  struct Constants {
    T beta1, beta2, share1, eps, weight_decay;  ///< share1: 1 - beta1
    T step_size;                                ///< lr / (1 - beta1^t)
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float&) const {
    return {static_cast<T>(beta1), static_cast<T>(beta2),        static_cast<T>(1 - beta1),
            static_cast<T>(eps),   static_cast<T>(weight_decay), static_cast<T>(lr / (1 - ::pow(beta1, t)))};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T& largest, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    m = c.beta1 * m + c.share1 * d;
    const T size = multiply_add(T(1), d < T(0) ? -d : d, c.eps);
    largest = running_maximum(size, c.beta2 * largest);
    return p - c.step_size * (m / largest);
  }
};

/// NAdam. States: the moments. The scalar is the product of the momenta of all steps, initially 1, held in f32 as in
/// PyTorch. Source: Dozat, "Incorporating Nesterov Momentum into Adam" (2016); torch.optim.NAdam.
struct NAdam {
  static constexpr unsigned kRequired = 0b011, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = true;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0, momentum_decay = 0;
  bool decoupled = false;

  template <class T>
  struct Constants {
    T beta1, beta2, share1, share2;  ///< share: 1 - beta
    T eps;
    T weight_decay;           ///< added to g; 0 if decoupled
    T keep;                   ///< 1 - lr weight_decay if decoupled, else 1
    T gradient_size, m_size;  ///< factors of g and m in the step
    T root_correction;        ///< 1 / sqrt(1 - beta2^t)
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float& product) const {
    const double mu = beta1 * (1 - 0.5 * ::pow(0.96, t * momentum_decay));
    const double next_mu = beta1 * (1 - 0.5 * ::pow(0.96, (t + 1) * momentum_decay));
    product *= static_cast<float>(mu);
    return {static_cast<T>(beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta1),
            static_cast<T>(1 - beta2),
            static_cast<T>(eps),
            static_cast<T>(decoupled ? 0 : weight_decay),
            static_cast<T>(decoupled ? 1 - lr * weight_decay : 1),
            static_cast<T>(lr * (1 - mu) / (1 - static_cast<double>(product))),
            static_cast<T>(lr * next_mu / (1 - static_cast<double>(product) * next_mu)),
            static_cast<T>(1 / ::sqrt(1 - ::pow(beta2, t)))};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T& v, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    m = c.beta1 * m + c.share1 * d;
    v = c.beta2 * v + c.share2 * d * d;
    return p * c.keep - (c.gradient_size * d + c.m_size * m) / (square_root(v) * c.root_correction + c.eps);
  }
};

/// RAdam. States: the moments. Source: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (2019);
/// torch.optim.RAdam.
struct RAdam {
  static constexpr unsigned kRequired = 0b011, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = false;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  bool decoupled = false;

  template <class T>
  struct Constants {
    T beta1, beta2, share1, share2;  ///< share: 1 - beta
    T eps;
    T weight_decay;   ///< added to g; 0 if decoupled
    T keep;           ///< 1 - lr weight_decay if decoupled, else 1
    T step_size;      ///< lr / (1 - beta1^t)
    T rectification;  ///< of the adaptive rate, with the correction of v
    bool adaptive;    ///< false in the first steps, while the variance of the adaptive rate is unbounded
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double t, float&) const {
    const double power = ::pow(beta2, t);
    const double longest = 2 / (1 - beta2) - 1;  // the length of the simple moving average that v approximates
    const double length = longest - 2 * t * power / (1 - power);
    const bool adaptive = length > 5;
    const double variance =
        (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * (1 - power);
    return {static_cast<T>(beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta1),
            static_cast<T>(1 - beta2),
            static_cast<T>(eps),
            static_cast<T>(decoupled ? 0 : weight_decay),
            static_cast<T>(decoupled ? 1 - lr * weight_decay : 1),
            static_cast<T>(lr / (1 - ::pow(beta1, t))),
            static_cast<T>(adaptive ? ::sqrt(variance) : 0),
            adaptive};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T& v, T&, const Constants<T>& c) {
    const T d = decayed_gradient(g, p, c.weight_decay);
    m = c.beta1 * m + c.share1 * d;
    v = c.beta2 * v + c.share2 * d * d;
    const T adapted = m * (c.rectification / (square_root(v) + c.eps));
    return p * c.keep - c.step_size * (c.adaptive ? adapted : m);
  }
};

/// Lion. State: the average of g. Source: Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023).
struct Lion {
  static constexpr unsigned kRequired = 0b001, kOptional = 0;
  static constexpr bool kStepless = true, kScalar = false;
  double beta1 = 0, beta2 = 0, weight_decay = 0;

  template <class T>
  struct Constants {
    T lr, beta1, beta2, share1, share2;  ///< share: 1 - beta
    T keep;                              ///< 1 - lr weight_decay
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double lr, double, float&) const {
    return {static_cast<T>(lr),        static_cast<T>(beta1),     static_cast<T>(beta2),
            static_cast<T>(1 - beta1), static_cast<T>(1 - beta2), static_cast<T>(1 - lr * weight_decay)};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T&, T&, const Constants<T>& c) {
    const T direction = c.beta1 * m + c.share1 * g;
    const T sign = direction > T(0) ? T(1) : direction < T(0) ? T(-1) : direction;  // NaN stays NaN
    m = c.beta2 * m + c.share2 * g;
    return p * c.keep - c.lr * sign;
  }
};

/// The first part of LAMB: updates the moments and stores the update u in the third state. The kernels then subtract
/// lr |p| / |u| u from the parameter; the factor is lr if a norm is 0. Source: You et al., "Large Batch Optimization
/// for Deep Learning: Training BERT in 76 minutes" (2020), algorithm 2, with the identity as phi.
struct Lamb {
  static constexpr unsigned kRequired = 0b111, kOptional = 0;
  static constexpr bool kStepless = false, kScalar = false;
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;

  template <class T>
  struct Constants {
    T beta1, beta2, share1, share2;  ///< share: 1 - beta
    T eps, weight_decay;
    T correction;       ///< 1 / (1 - beta1^t)
    T root_correction;  ///< 1 / sqrt(1 - beta2^t)
  };
  template <class T>
  TANDEM_MATH Constants<T> constants(double, double t, float&) const {
    return {static_cast<T>(beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta1),
            static_cast<T>(1 - beta2),
            static_cast<T>(eps),
            static_cast<T>(weight_decay),
            static_cast<T>(1 / (1 - ::pow(beta1, t))),
            static_cast<T>(1 / ::sqrt(1 - ::pow(beta2, t)))};
  }
  template <class T>
  TANDEM_MATH static T update(T p, T g, T& m, T& v, T& u, const Constants<T>& c) {
    m = c.beta1 * m + c.share1 * g;
    v = c.beta2 * v + c.share2 * g * g;
    u = decayed_gradient(c.correction * m / (square_root(v) * c.root_correction + c.eps), p, c.weight_decay);
    return p;
  }
};

/// LAMB's factor of the learning rate, from the sums of p^2 and u^2.
TANDEM_MATH double trust_ratio(double p_squares, double u_squares) {
  return p_squares > 0 && u_squares > 0 ? ::sqrt(p_squares) / ::sqrt(u_squares) : 1;
}

}  // namespace tandem::math
#pragma GCC visibility pop
