#pragma once
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/dropout.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {

TANDEM_OPS Tensor dropout(const Tensor& x, double p, bool training) {
  const Op<"dropout"> op;
  checks::defined("x", x);
  TANDEM_CHECK(p >= 0 && p <= 1, StateError, "p = {}, but must be in [0, 1]", p);
  if (!training || p == 0 || x.numel() == 0) return x;
  checks::floating("x", x);
  return op.apply(
      [p](const Tensor& x) {
        if (p == 1) {
          return Result{zeros_like(x), {}, [](const Backward& b) -> Grads { return {zeros_like(b.grad())}; }};
        }
        Tensor y = empty_like(x), mask = empty_like(x, kBool);
        backend(x).dropout(y, mask, x, p, default_generator().reserve(x.numel(), x.device().type()));
        return Result{y, save(mask),
                      [p](const Backward& b) -> Grads { return {dropout_backward(b.grad(), b.saved(0), p)}; }};
      },
      x);
}

TANDEM_OPS Tensor dropout_backward(const Tensor& gy, const Tensor& mask, double p) {
  const Op<"dropout_backward"> op;
  checks::floating("gy", gy);
  checks::defined("mask", mask);
  checks::sizes("mask", mask, gy.sizes());
  TANDEM_CHECK(mask.dtype() == kBool, DTypeError,
               "mask is {}, but must be bool, true where x was kept; compare it with 0", checks::show(mask));
  TANDEM_CHECK(p >= 0 && p < 1, StateError, "p = {}, but must be in [0, 1)", p);
  return op.apply(
      [p](const Tensor& gy, const Tensor& mask) {
        Tensor gx = empty_like(gy);
        // relu_backward selects instead of multiplying: an inf in a masked position must not become NaN.
        backend(gy).binary(gx, kernels::Binary::relu_backward, gy, mask, 1);
        backend(gy).unary(gx, kernels::Unary::mul_scalar, gx, 1 / (1 - p), 0);
        return Result{gx, save(mask), [p](const Backward& b) -> Grads {
                        return {dropout_backward(b.grad(), b.saved(0), p), Tensor()};
                      }};
      },
      gy, mask);
}

namespace detail {

/// x times noise plus an offset, both drawn once for each element, or for each channel.
inline Tensor noisy(const Tensor& x, double p, bool training, bool by_channel, bool alpha) {
  checks::defined("x", x);
  TANDEM_CHECK(p >= 0 && p <= 1, StateError, "p = {}, but must be in [0, 1]", p);
  if (by_channel) {
    TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must be [N, C, ...]", checks::show(x));
  }
  if (!training || p == 0 || x.numel() == 0) return x;
  checks::floating("x", x);
  if (p == 1) return mul(x, zeros({}, x.options()));
  Dims sizes = x.impl().sizes;
  for (size_t d = 2; by_channel && d < sizes.size(); ++d) sizes[d] = 1;
  const Tensor kept = empty(sizes, x.options());
  kept.bernoulli_(1 - p);
  if (!alpha) return mul(x, div(kept, 1 - p));
  // With a = 1 / sqrt((s^2 p + 1) (1 - p)), a kept x becomes a x + a s p, any other a s p - a s, where -s is the limit
  // of selu at -inf.
  constexpr double kLimit = 1.7580993408473766;
  const double a = 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  const Tensor offset = add(mul(sub(kept, 1), kLimit * a), kLimit * a * p);
  return add(mul(x, mul(kept, a)), offset);
}

}  // namespace detail

TANDEM_OPS Tensor feature_dropout(const Tensor& x, double p, bool training) {
  const OpScope op("feature_dropout");
  return detail::noisy(x, p, training, true, false);
}
TANDEM_OPS Tensor alpha_dropout(const Tensor& x, double p, bool training) {
  const OpScope op("alpha_dropout");
  return detail::noisy(x, p, training, false, true);
}
TANDEM_OPS Tensor feature_alpha_dropout(const Tensor& x, double p, bool training) {
  const OpScope op("feature_alpha_dropout");
  return detail::noisy(x, p, training, true, true);
}

}  // namespace tandem
