#pragma once
// The unary formulas: a functor for each row of unary.inc, y = f(x; a, b), over float, double and, where it makes
// sense, int64; and the enum by which kernels are asked for them. A functor that returns bool is a predicate.
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tandem/math/activation.h"
#include "tandem/math/frexp.h"
#include "tandem/math/power.h"
#include "tandem/math/special.h"
#include "tandem/math/trig.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// x / 2 (1 + erf(x / sqrt 2)).
template <class T>
TANDEM_MATH T gelu(T x) {
  return x * normal_cdf(x);
}

/// The argument of tanh in gelu's tanh form: sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
TANDEM_MATH T gelu_tanh_argument(T x) {
  return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
}

/// -1, 0 or 1; 0 for NaN, as in PyTorch.
template <class T>
TANDEM_MATH T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}

/// max(x, 0); NaN for NaN.
template <class T>
TANDEM_MATH T relu(T x) {
  return x <= T(0) ? T(0) : x;
}

}  // namespace tandem::math

namespace tandem::math::unary {

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)                                                            \
  struct NAME {                                                                                              \
    template <class T>                                                                                       \
    requires(CONDITION) TANDEM_MATH auto operator()(T x, [[maybe_unused]] T a, [[maybe_unused]] T b) const { \
      return FORMULA;                                                                                        \
    }                                                                                                        \
  };
// NOLINTEND(bugprone-macro-parentheses)
#include "tandem/math/unary.inc"

}  // namespace tandem::math::unary

namespace tandem::kernels {

/// The formulas of unary.inc.
enum class Unary : uint8_t {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) NAME,
#include "tandem/math/unary.inc"
};

/// Returns the formula of this name, if there is one.
constexpr std::optional<Unary> unary_named(std::string_view name) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  if (name == #NAME) return Unary::NAME;
#include "tandem/math/unary.inc"
  return std::nullopt;
}

/// True for a formula of these operands with a bool result.
template <class Formula, class... T>
constexpr bool returns_bool(T... x) {
  if constexpr (std::is_invocable_v<Formula, T...>) return std::is_same_v<decltype(Formula()(x...)), bool>;
  return false;
}

/// True for the formulas with a bool result.
constexpr bool is_predicate(Unary op) {
  switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return returns_bool<math::unary::NAME>(0.0, 0.0, 0.0);
#include "tandem/math/unary.inc"
  }
  return false;
}

/// True for the formulas that are defined on integers and give integers.
constexpr bool keeps_integers(Unary op) {
  switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return std::is_invocable_v<math::unary::NAME, int64_t, int64_t, int64_t>;
#include "tandem/math/unary.inc"
  }
  return false;
}

}  // namespace tandem::kernels
#pragma GCC visibility pop
