#pragma once
// Ops that copy elements with mapped indices: flip, roll and padding. Internal.
#include "tandem/autograd/apply.h"
#include "tandem/backend.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// y = x with mapped indices, in x's memory order.
inline Tensor remap_kernel(const Tensor& x, const Dims& sizes, const IndexMap& map, Scalar fill) {
  const Tensor y = empty_strided(sizes, dense_strides(sizes, x.strides()), x.options());
  if (y.numel() > 0) backend(x).remap(y, x, map, fill);
  return y;
}

Tensor remap_backward(const Tensor& gy, const Dims& sizes, const IndexMap& map);

/// An op that copies elements, some of them several times, so that its gradient is a sum.
template <FixedString Name>
Tensor remap_op(const Op<Name>& op, const Tensor& x, const Dims& sizes, const IndexMap& map) {
  return op.apply(
      [&](const Tensor& x) {
        return Result{remap_kernel(x, sizes, map, 0), {}, [map, back = x.impl().sizes](const Backward& b) -> Grads {
                        return {remap_backward(b.grad(), back, map)};
                      }};
      },
      x);
}

/// The gradient of such an op: for each element of x, the sum over its copies.
inline Tensor remap_backward(const Tensor& gy, const Dims& sizes, const IndexMap& map) {
  const Op<"pad_backward"> op;
  return op.apply(
      [&](const Tensor& gy) {
        const Tensor gx = empty_strided(sizes, dense_strides(sizes, gy.strides()), gy.options());
        if (gx.numel() > 0) backend(gy).remap_backward(gx, gy, map);
        return Result{gx, {}, [map, back = gy.impl().sizes](const Backward& b) -> Grads {
                        return {remap_op(Op<"pad_backward">(), b.grad(), back, map)};
                      }};
      },
      gy);
}

/// An op that copies elements at most once: its gradient is the same op with the map `reverse`.
template <FixedString Name>
Tensor remap_once(const Tensor& x, const Dims& sizes, const IndexMap& map, const IndexMap& reverse) {
  const Op<Name> op;
  return op.apply(
      [&](const Tensor& x) {
        return Result{
            remap_kernel(x, sizes, map, 0), {}, [map, reverse, back = x.impl().sizes](const Backward& b) -> Grads {
              return {remap_once<Name>(b.grad(), back, reverse, map)};
            }};
      },
      x);
}

}  // namespace tandem::detail
