#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/masked.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_mask(const char* which, const Tensor& x, const Tensor& mask) {
  checks::defined(which, x);
  checks::defined("mask", mask);
  TANDEM_CHECK(mask.dtype() == kBool, DTypeError, "mask is {}, but must be bool; convert it with .to(kBool)",
               checks::show(mask));
}

/// Throws ShapeError unless the mask broadcasts to self.
inline void check_mask_in_place(const Tensor& self, const Tensor& mask) {
  check_mask("self", self, mask);
  TANDEM_CHECK(broadcast_shapes(self.sizes(), mask.sizes()) == self.impl().sizes, ShapeError,
               "mask {} does not broadcast to self {}", checks::show(mask), checks::show(self));
}

/// masked_fill of checked arguments; value: rank 0, x's dtype and device.
inline Tensor masked_fill_op(const Tensor& x, const Tensor& mask, const Tensor& value) {
  const Op<"masked_fill"> op;
  const Tensor m = beside(x, mask);
  return op.apply(
      [](const Tensor& x, const Tensor& mask, const Tensor& value) {
        const Dims sizes = broadcast_shapes(x.sizes(), mask.sizes());
        const Tensor y = x.sizes() == IntArrayRef(sizes) ? empty_like(x) : empty(sizes, x.options());
        backend(y).where(y, broadcast_view(mask, sizes), broadcast_view(value, sizes), broadcast_view(x, sizes));
        return Result{y, save(mask), [xs = x.impl().sizes](const Backward& b) -> Grads {
                        const Tensor mask = b.saved(0), g = b.grad();
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = sum_to_size(masked_fill(g, mask, 0), xs);
                        if (b.needs(2)) grads[2] = sum(where(mask, g, 0));
                        return grads;
                      }};
      },
      x, m, value);
}

inline const Tensor& masked_fill_in_place(const OpScope& op, const Tensor& self, const Tensor& mask,
                                          const Tensor& value) {
  check_devices({&self, &mask});
  return apply_in_place(
      op, self, {&value, 1},
      [&](const Tensor& y) {
        const Tensor fill = apart(y, value), chosen = beside(y, apart(y, mask));
        backend(y).where(y, broadcast_view(chosen, y.sizes()), broadcast_view(fill, y.sizes()), y);
      },
      [&](const Tensor& old) { return masked_fill_op(old, mask, value); });
}

/// Returns the row-major positions of the true elements of `mask`, broadcast to `sizes`: [n] i64.
inline Tensor positions_of(const Tensor& mask, IntArrayRef sizes) {
  return flatten(nonzero(reshape(broadcast_view(mask, sizes), {-1})));
}

inline void check_source(const char* which, const Tensor& x, const Tensor& source) {
  checks::defined("source", source);
  checks::same_dtype(which, x, "source", source);
}

/// x with the elements at `positions` of its row-major order replaced by the first of `source`.
inline Tensor masked_scatter_at(const Tensor& x, const Tensor& positions, const Tensor& source) {
  const int64_t n = positions.numel();
  TANDEM_CHECK(source.numel() >= n, ShapeError, "source is {}, but the mask selects {} elements; give as many",
               checks::show(source), n);
  const Tensor flat = reshape(x, {-1}), first = slice(reshape(source, {-1}), 0, 0, n);
  return reshape(index_copy(flat, 0, positions, first), x.sizes());
}

}  // namespace detail

TANDEM_OPS Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  const OpScope op("masked_fill");
  detail::check_mask("x", x, mask);
  return detail::masked_fill_op(x, mask, detail::number_like(x, value));
}
TANDEM_OPS Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  const OpScope op("masked_fill");
  detail::check_mask("x", x, mask);
  return detail::masked_fill_op(x, mask, detail::number_for(x, value));
}
TANDEM_OPS const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, Scalar value) {
  const OpScope op("masked_fill_");
  detail::check_mask_in_place(self, mask);
  return detail::masked_fill_in_place(op, self, mask, detail::number_like(self, value));
}
TANDEM_OPS const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Tensor& value) {
  const OpScope op("masked_fill_");
  detail::check_mask_in_place(self, mask);
  return detail::masked_fill_in_place(op, self, mask, detail::number_for(self, value));
}

TANDEM_OPS Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const OpScope op("masked_select");
  detail::check_mask("x", x, mask);
  detail::check_devices({&x, &mask});
  const Dims sizes = broadcast_shapes(x.sizes(), mask.sizes());
  return index_select(reshape(expand(x, sizes), {-1}), 0, detail::positions_of(detail::beside(x, mask), sizes));
}

TANDEM_OPS Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  const OpScope op("masked_scatter");
  detail::check_mask("x", x, mask);
  detail::check_source("x", x, source);
  detail::check_devices({&x, &mask, &source});
  const Dims sizes = broadcast_shapes(x.sizes(), mask.sizes());
  return detail::masked_scatter_at(expand(x, sizes), detail::positions_of(detail::beside(x, mask), sizes), source);
}
TANDEM_OPS const Tensor& masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const OpScope op("masked_scatter_");
  detail::check_mask_in_place(self, mask);
  detail::check_source("self", self, source);
  detail::check_devices({&self, &mask, &source});
  const Tensor positions = detail::positions_of(detail::beside(self, mask), self.sizes());
  const auto scattered = [&](const Tensor& x) { return detail::masked_scatter_at(x, positions, source); };
  return apply_in_place(
      op, self, {&source, 1}, [&](const Tensor& y) { backend(y).copy(y, scattered(y)); }, scattered);
}

}  // namespace tandem
