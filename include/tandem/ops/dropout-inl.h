#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/dropout.h"
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

}  // namespace tandem
