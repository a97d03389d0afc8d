#pragma once
// The ops of one operand that are a formula: defined by the rows of math/unary.inc.
#include <cmath>

#include "tandem/ops/activation.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"

namespace tandem {

namespace detail {

inline constexpr Keep keep_x = Keep::input, keep_y = Keep::output, keep_nothing = Keep::nothing;

}  // namespace detail

#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)
#define TANDEM_UNARY_OP(NAME, SAVED, DERIVATIVE)                                                               \
  TANDEM_OPS Tensor NAME(const Tensor& input) {                                                                \
    return detail::unary_op(Op<#NAME>(), input, detail::keep_##SAVED,                                          \
                            [](const Tensor& g, [[maybe_unused]] const Tensor& SAVED) { return DERIVATIVE; }); \
  }
#include "tandem/math/unary.inc"

}  // namespace tandem
