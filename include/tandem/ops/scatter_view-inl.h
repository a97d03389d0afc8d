#pragma once
// Ops that replace a part of a tensor: select_scatter, slice_scatter, diagonal_scatter. Internal.
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// A copy of x with part_of(x) replaced by src; part_of is a view op.
template <FixedString Name, class F>
Tensor scatter_view(const Op<Name>& op, const Tensor& x, const Tensor& src, F part_of) {
  checks::defined("x", x);
  checks::defined("src", src);
  {
    NoGradGuard no_grad;
    checks::sizes("src", src, part_of(x).sizes());
  }
  return op.apply(
      [&](const Tensor& x, const Tensor& src) {
        const Tensor y = empty_like(x);
        backend(x).copy(y, x);
        if (src.numel() > 0) backend(x).copy(part_of(y), src);
        return Result{y, {}, [part_of](const Backward& b) -> Grads {
                        Grads grads(2);
                        const Tensor part = part_of(b.grad());
                        if (b.needs(0)) {
                          grads[0] = scatter_view(Op<Name>(), b.grad(), zeros(part.sizes(), part.options()), part_of);
                        }
                        if (b.needs(1)) grads[1] = part;
                        return grads;
                      }};
      },
      x, src);
}

}  // namespace tandem::detail
