#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/base/check.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/math_functions.h"

namespace tandem {

TANDEM_OPS Tensor logit(const Tensor& x, std::optional<double> eps) {
  const Op<"logit"> op;
  const double low = eps ? *eps : -INFINITY, high = eps ? 1 - *eps : INFINITY;
  return detail::unary_op(
      op, x, detail::Keep::input,
      [eps, low, high](const Tensor& g, const Tensor& x) {
        const Tensor y = div(g, mul(x, rsub(x, 1)));
        // Without limits, NaN outside of [0, 1], as in PyTorch.
        const Tensor outside = logical_or(lt(x, eps ? low : 0), gt(x, eps ? high : 1));
        return where(outside, scalar_tensor(eps ? 0.0 : NAN, g.options()), y);
      },
      low, high);
}

TANDEM_OPS Tensor frac(const Tensor& x) {
  const Op<"frac"> op;
  checks::floating("the input", x);
  return detail::unary_op(op, x, detail::Keep::nothing, [](const Tensor& g, const Tensor&) { return g; });
}

TANDEM_OPS Tensor round(const Tensor& x, int64_t decimals) {
  const OpScope op("round");
  checks::floating("the input", x);
  if (decimals == 0) return round(x);
  TANDEM_CHECK(decimals >= -300 && decimals <= 300, StateError, "decimals is {}; it must be in [-300, 300]", decimals);
  return detail::unary_op(
      Op<"round_decimals">(), x, detail::Keep::nothing, [](const Tensor& g, const Tensor&) { return zeros_like(g); },
      std::pow(10.0, std::max<int64_t>(decimals, 0)), std::pow(10.0, std::max<int64_t>(-decimals, 0)));
}

TANDEM_OPS Tensor deg2rad(const Tensor& x) {
  const OpScope op("deg2rad");
  return mul(x, M_PI / 180);
}
TANDEM_OPS Tensor rad2deg(const Tensor& x) {
  const OpScope op("rad2deg");
  return mul(x, 180 / M_PI);
}

namespace detail {

inline double largest_number(DType t) {
  switch (t) {
    case kHalf:
      return 65504;
    case kBFloat16:
      return 0x1.fep127;
    case kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace detail

TANDEM_OPS Tensor nan_to_num(const Tensor& x, std::optional<double> nan, std::optional<double> posinf,
                             std::optional<double> neginf) {
  const Op<"nan_to_num"> op;
  checks::defined("the input", x);
  if (!x.is_floating_point()) return x.clone();
  const double largest = detail::largest_number(x.dtype());
  const Tensor y = detail::unary_op(
      op, x, detail::Keep::input,
      [](const Tensor& g, const Tensor& x) { return where(isfinite(x), g, zeros({}, g.options())); },
      posinf.value_or(largest), neginf.value_or(-largest));
  return nan.value_or(0) == 0 ? y : where(isnan(x), *nan, y);
}

TANDEM_OPS Tensor positive(const Tensor& x) {
  const OpScope op("positive");
  checks::defined("the input", x);
  checks::not_bool(x);
  return x;
}

TANDEM_OPS Tensor isreal(const Tensor& x) {
  const OpScope op("isreal");
  checks::defined("the input", x);
  return ones_like(x, kBool);
}

}  // namespace tandem
