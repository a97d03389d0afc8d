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
  checks::defined("dropout", "x", x);
  TANDEM_CHECK(p >= 0 && p <= 1, StateError, "dropout: p = {}, but a probability lies in [0, 1]", p);
  if (!training || p == 0 || x.numel() == 0) return x;
  checks::floating("dropout", "x", x);
  return apply<"dropout">(
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
  checks::floating("dropout_backward", "gy", gy);
  checks::defined("dropout_backward", "mask", mask);
  checks::sizes("dropout_backward", "mask", mask, gy.sizes());
  TANDEM_CHECK(mask.dtype() == kBool, DTypeError,
               "dropout_backward: mask is {}, but must be bool, true where x was kept; compare it with 0",
               checks::show(mask));
  TANDEM_CHECK(p >= 0 && p < 1, StateError, "dropout_backward: p = {}, but must lie in [0, 1)", p);
  return apply<"dropout_backward">(
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
