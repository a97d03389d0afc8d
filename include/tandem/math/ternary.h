#pragma once
// The formulas of three operands: a functor for each row of ternary.inc, y = f(a, b, c; alpha), over float, double and,
// where it makes sense, int64; and the enum by which kernels are asked for them.
#include "tandem/math/binary.h"

#pragma GCC visibility push(default)
namespace tandem::math::ternary {

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA)                                                                 \
  struct NAME {                                                                                                     \
    template <class T>                                                                                              \
    requires(CONDITION) TANDEM_MATH T operator()(T a, T b, T c, [[maybe_unused]] T alpha) const { return FORMULA; } \
  };
// NOLINTEND(bugprone-macro-parentheses)
#include "tandem/math/ternary.inc"

}  // namespace tandem::math::ternary

namespace tandem::kernels {

/// The formulas of ternary.inc.
enum class Ternary : uint8_t {
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA) NAME,
#include "tandem/math/ternary.inc"
};

/// True for the formulas that are defined on integers and give integers.
constexpr bool keeps_integers(Ternary op) {
  switch (op) {
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA) \
  case Ternary::NAME:                               \
    return std::is_invocable_v<math::ternary::NAME, int64_t, int64_t, int64_t, int64_t>;
#include "tandem/math/ternary.inc"
  }
  return false;
}

}  // namespace tandem::kernels
#pragma GCC visibility pop
