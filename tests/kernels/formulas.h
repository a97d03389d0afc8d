#pragma once
// The elementwise formulas in f64: those that the library approximates or rearranges, written plainly with the C
// library. The other rows of unary.inc and binary.inc are their own reference: here kernels are compared with the
// formula, and in tests/cases the formula with PyTorch.
#include <algorithm>
#include <cmath>

#include "tandem/math/ternary.h"

namespace tandem::testing {

using kernels::Binary;
using kernels::Unary;

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double phi(double x) { return 0.5 * (1 + std::erf(x * M_SQRT1_2)); }
inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
inline double gelu_tanh_slope(double x) {
  const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/// The formula's value; NaN for the formulas of integers.
template <class Formula, class... T>
double formula_or_nan(T... x) {
  if constexpr (std::is_invocable_v<Formula, T...>) return Formula()(x...);
  return NAN;
}
/// False for the formulas of integers.
constexpr bool takes_floats(Unary op) { return op != Unary::bitwise_not; }
constexpr bool takes_floats(Binary op) { return op < Binary::bitwise_and || op > Binary::lcm; }

inline double reference(Unary op, double x, double a, double b) {
  switch (op) {
    case Unary::neg:
      return -x;
    case Unary::abs:
      return std::abs(x);
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::rsqrt:
      return 1 / std::sqrt(x);
    case Unary::reciprocal:
      return 1 / x;
    case Unary::sigmoid:
      return sigmoid(x);
    case Unary::tanh:
      return std::tanh(x);
    case Unary::relu:
      return std::isnan(x) ? x : std::max(x, 0.0);
    case Unary::gelu:
      return x * phi(x);
    case Unary::gelu_tanh:
      return gelu_tanh(x);
    case Unary::sign:
      return (x > 0) - (x < 0);
    case Unary::square:
      return x * x;
    case Unary::erf:
      return std::erf(x);
    case Unary::floor:
      return std::floor(x);
    case Unary::ceil:
      return std::ceil(x);
    case Unary::round:
      return std::nearbyint(x);
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::log1p:
      return std::log1p(x);
    case Unary::expm1:
      return std::expm1(x);
    case Unary::logical_not:
      return x == 0;
    case Unary::isfinite:
      return std::isfinite(x);
    case Unary::isnan:
      return std::isnan(x);
    case Unary::isinf:
      return std::isinf(x);
    case Unary::tan:
      return std::tan(x);
    case Unary::asin:
      return std::asin(x);
    case Unary::acos:
      return std::acos(x);
    case Unary::atan:
      return std::atan(x);
    case Unary::silu:
      return x * sigmoid(x);
    case Unary::mish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Unary::elu:
      return x > 0 ? x : a * std::expm1(x * b);
    case Unary::selu:
      return math::kSeluScale * (x > 0 ? x : math::kSeluAlpha * std::expm1(x));
    case Unary::hardsigmoid:
      return std::isnan(x) ? x : std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case Unary::sinc:
      return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x);
    case Unary::add_scalar:
      return x + a;
    case Unary::mul_scalar:
      return x * a;
    case Unary::div_scalar:
      return x / a;
    case Unary::rsub_scalar:
      return a - x;
    case Unary::rdiv_scalar:
      return a / x;
    case Unary::pow_scalar:
      return std::pow(x, a);
    case Unary::rpow_scalar:
      return std::pow(a, x);
    case Unary::clamp:
      return std::isnan(x) ? x : std::min(std::max(x, a), b);
    case Unary::softplus:
      return std::isnan(x) || x * a > b ? x : std::log1p(std::exp(x * a)) / a;
    case Unary::logsigmoid:
      return std::isnan(x) ? x : std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
    default:
      break;
  }
  switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return formula_or_nan<math::unary::NAME>(x, a, b);
#include "tandem/math/unary.inc"
  }
  return NAN;
}

inline double nan_max(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
inline double nan_min(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

inline double reference(Binary op, double a, double b, double alpha) {
  switch (op) {
    case Binary::add:
      return a + alpha * b;
    case Binary::sub:
      return a - alpha * b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::pow:
      return std::pow(a, b);
    case Binary::maximum:
      return nan_max(a, b);
    case Binary::minimum:
      return nan_min(a, b);
    case Binary::eq:
      return a == b;
    case Binary::ne:
      return a != b;
    case Binary::lt:
      return a < b;
    case Binary::le:
      return a <= b;
    case Binary::gt:
      return a > b;
    case Binary::ge:
      return a >= b;
    case Binary::logical_and:
      return a != 0 && b != 0;
    case Binary::logical_or:
      return a != 0 || b != 0;
    case Binary::logical_xor:
      return (a != 0) != (b != 0);
    case Binary::relu_backward:
      return b <= 0 ? 0 : a;
    case Binary::sigmoid_backward:
      return a * (1 - b) * b;
    case Binary::tanh_backward:
      return a * (1 - b * b);
    case Binary::gelu_backward:
      return a * (phi(b) + b * std::exp(-0.5 * b * b) / std::sqrt(2 * M_PI));
    case Binary::gelu_tanh_backward:
      return a * gelu_tanh_slope(b);
    case Binary::squared_difference:
      return (a - b) * (a - b);
    case Binary::bce_with_logits:
      return nan_max(a, 0) - a * b + std::log1p(std::exp(-std::abs(a)));
    case Binary::binary_cross_entropy:
      return -(b * nan_max(std::log(a), -100) + (1 - b) * nan_max(std::log1p(-a), -100));
    case Binary::binary_cross_entropy_backward:
      return (a - b) / nan_max((1 - a) * a, 1e-12);
    case Binary::atan2:
      return std::atan2(a, b);
    case Binary::hypot:
      return std::hypot(a, b);
    case Binary::fmax:
      return std::fmax(a, b);
    case Binary::fmin:
      return std::fmin(a, b);
    case Binary::logaddexp:
      return std::log(std::exp(a) + std::exp(b));
    case Binary::logaddexp2:
      return std::log2(std::exp2(a) + std::exp2(b));
    default:
      break;
  }
  switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return formula_or_nan<math::binary::NAME>(a, b, alpha);
#include "tandem/math/binary.inc"
  }
  return NAN;
}

inline constexpr Unary kUnaryOps[] = {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) Unary::NAME,
#include "tandem/math/unary.inc"
};
inline constexpr Binary kBinaryOps[] = {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) Binary::NAME,
#include "tandem/math/binary.inc"
};

}  // namespace tandem::testing
