#pragma once
// The binary formulas: a functor for each row of binary.inc, y = f(a, b; alpha), over float, double and, where it makes
// sense, int64; and the enum by which kernels are asked for them. A functor that returns bool is a predicate.
#include "tandem/math/integer.h"
#include "tandem/math/unary.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// d gelu / dx: Phi(x) + x phi(x).
template <class T>
TANDEM_MATH T gelu_slope(T x) {
  return normal_cdf(x) + x * (T(0.39894228040143267794) * exp_of_weight(T(-0.5) * x * x));
}

/// d gelu_tanh / dx.
template <class T>
TANDEM_MATH T gelu_tanh_slope(T x) {
  const T t = tanh(gelu_tanh_argument(x));
  const T inner_slope = T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner_slope;
}

/// -(t log p + (1 - t) log(1 - p)), each logarithm at least -100. Source: torch.nn.functional.binary_cross_entropy.
template <class T>
TANDEM_MATH T binary_cross_entropy(T p, T t) {
  const T log_p = maximum(log(p), T(-100)), log_q = maximum(log1p(-p), T(-100));
  return (t - T(1)) * log_q - t * log_p;
}

/// -(t log sigmoid(x) + (1 - t) log(1 - sigmoid(x))), where 0 times inf is 0.
template <class T>
TANDEM_MATH T bce_with_logits(T x, T t) {
  const T factor = x > T(0) ? T(1) - t : t;
  return (factor == T(0) ? T(0) : factor * abs(x)) + log1p_exp_neg_abs(x);
}

/// e^x - t x; inf if e^x is, where an overflow of t x would give NaN.
template <class T>
TANDEM_MATH T poisson_nll_log_input(T x, T t) {
  const T rate = exp(x);
  return rate == kInf<T> ? rate : rate - t * x;
}

/// sqrt(a^2 + b^2) without overflow; inf if either is infinite.
TANDEM_MATH double hypot(double a, double b) { return TANDEM_LIBM(hypot)(a, b); }
TANDEM_MATH float hypot(float a, float b) {
#if defined(__CUDA_ARCH__)
  return ::hypotf(a, b);
#else
  const double u = static_cast<double>(a), v = static_cast<double>(b);
  const bool infinite = bool((a == kInf<float>) | (a == -kInf<float>)) | bool((b == kInf<float>) | (b == -kInf<float>));
  return infinite ? kInf<float> : static_cast<float>(TANDEM_LIBM(sqrt)(u * u + v * v));
#endif
}

/// log(e^a + e^b)
template <class T>
TANDEM_MATH T logaddexp(T a, T b) {
  const T y = maximum(a, b) + log1p_exp_neg_abs(a - b);
  return bool((a == b) & (abs(a) == kInf<T>)) ? a : y;
}
/// log2(2^a + 2^b)
template <class T>
TANDEM_MATH T logaddexp2(T a, T b) {
  const T y = maximum(a, b) + log1p(exp2(-abs(a - b))) * T(1.44269504088896340736);
  return bool((a == b) & (abs(a) == kInf<T>)) ? a : y;
}
/// The number next to a towards b. `unused` is the number of trailing bits of T that the numbers do not use: 16 for
/// bf16 in float, 13 for f16 in float, else 0.
template <class T>
TANDEM_MATH T nextafter(T a, T b, T unused) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  const Bits step = Bits{1} << static_cast<int>(unused), bits = __builtin_bit_cast(Bits, a);
  const bool outwards = (a < b) == (a > T(0));
  const Bits beside = outwards ? bits + step : bits - step;
  const Bits from_zero = step | (__builtin_bit_cast(Bits, b) & sign);
  T y = __builtin_bit_cast(T, a == T(0) ? from_zero : beside);
  if constexpr (sizeof(T) == 4) {
    // f16: numbers below 2^-14 are apart by 2^-24, and the largest one is 65504.
    const T size = abs(a), limit = T(0x1p-14);
    const bool fixed = bool((unused == T(13)) & ((size < limit) | ((size == limit) & !outwards)));
    y = fixed ? (a < b ? a + T(0x1p-24) : a - T(0x1p-24)) : y;
    y = bool((unused == T(13)) & (size == kInf<T>)) ? copysign(T(65504), a) : y;
  }
  return bool((a != a) | (b != b)) ? a + b : (a == b ? b : y);
}
/// a log b; 0 if a is 0, unless b is NaN.
template <class T>
TANDEM_MATH T xlogy(T a, T b) {
  const T y = a * log(b);
  return b != b ? b : (a == T(0) ? T(0) : y);
}
/// a + weight (b - a), computed from the nearer end, so that it is exact at both.
template <class T>
TANDEM_MATH T lerp(T a, T b, T weight) {
  const T from_a = a + weight * (b - a), from_b = b - (b - a) * (T(1) - weight);
  return abs(weight) < T(0.5) ? from_a : from_b;
}

/// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2. Source: torch.nn.functional.smooth_l1_loss.
template <class T>
TANDEM_MATH T smooth_l1(T d, T beta) {
  const T n = abs(d);
  return n < beta ? T(0.5) * n * (n / beta) : n - T(0.5) * beta;
}
/// Its derivative by d.
template <class T>
TANDEM_MATH T smooth_l1_slope(T d, T beta) {
  return abs(d) >= beta ? sign(d) : d / beta;
}

/// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). Source: torch.nn.functional.huber_loss.
template <class T>
TANDEM_MATH T huber(T d, T delta) {
  const T n = abs(d);
  return n <= delta ? T(0.5) * n * n : delta * (n - T(0.5) * delta);
}

/// x where t is not -1, plus max(0, margin - x) where t is not 1. Source: torch.nn.functional.hinge_embedding_loss.
template <class T>
TANDEM_MATH T hinge_embedding(T x, T t, T margin) {
  return (t != T(1) ? maximum(margin - x, T(0)) : T(0)) + (t != T(-1) ? x : T(0));
}
/// Its derivative by x.
template <class T>
TANDEM_MATH T hinge_embedding_slope(T x, T t, T margin) {
  return (t != T(-1) ? T(1) : T(0)) - (bool((t != T(1)) & (x < margin)) ? T(1) : T(0));
}

}  // namespace tandem::math

namespace tandem::math::binary {

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA)                                                          \
  struct NAME {                                                                                                   \
    template <class T>                                                                                            \
    requires(CONDITION) TANDEM_MATH auto operator()(T A, T B, [[maybe_unused]] T alpha) const { return FORMULA; } \
  };
// NOLINTEND(bugprone-macro-parentheses)
#include "tandem/math/binary.inc"

}  // namespace tandem::math::binary

namespace tandem::kernels {

/// The formulas of binary.inc.
enum class Binary : uint8_t {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) NAME,
#include "tandem/math/binary.inc"
};

/// Returns the formula of this name, if there is one.
constexpr std::optional<Binary> binary_named(std::string_view name) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  if (name == #NAME) return Binary::NAME;
#include "tandem/math/binary.inc"
  return std::nullopt;
}

/// True for the formulas with a bool result.
constexpr bool is_predicate(Binary op) {
  switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return returns_bool<math::binary::NAME>(0.0, 0.0, 0.0);
#include "tandem/math/binary.inc"
  }
  return false;
}

/// True for the formulas that are defined on integers and give integers.
constexpr bool keeps_integers(Binary op) {
  switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return std::is_invocable_v<math::binary::NAME, int64_t, int64_t, int64_t>;
#include "tandem/math/binary.inc"
  }
  return false;
}

}  // namespace tandem::kernels
#pragma GCC visibility pop
