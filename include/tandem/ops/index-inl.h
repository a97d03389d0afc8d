#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm.h"
#include "tandem/tensor/factories.h"

namespace tandem {

TANDEM_OPS Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                            bool /*sparse*/) {
  const Op<"embedding"> op;
  detail::check_table(weight, indices);
  const int64_t rows = weight.size(0), width = weight.size(1);
  TANDEM_CHECK(padding_idx >= -1 && padding_idx < rows, IndexError,
               "padding_idx = {}, but weight {} has {} entries; -1 means none", padding_idx, checks::show(weight),
               rows);
  return op.apply(
      [&](const Tensor& weight, const Tensor& indices) {
        const int64_t count = indices.numel();
        Dims sizes = indices.impl().sizes;
        sizes.push_back(width);
        Tensor y = empty(sizes, weight.options());
        if (count > 0) {
          const Tensor flat = contiguous(indices);
          backend(weight).index_select(make_view(y, {count, width}, {width, 1}, 0), weight, 0,
                                       make_view(flat, {count}, {1}, flat.storage_offset()));
        }
        return Result{y, save(indices), [=](const Backward& b) -> Grads {
                        const Tensor flat = detail::with_shape(b.saved(0), {count});
                        Tensor g = detail::with_shape(b.grad(), {count, width});
                        if (padding_idx >= 0) g = where(unsqueeze(ne(flat, padding_idx), 1), g, 0);
                        if (scale_grad_by_freq) g = detail::over_frequency(g, flat, rows);
                        return {index_select_backward(to(g, b.wanted(0)), {rows, width}, 0, flat), Tensor()};
                      }};
      },
      weight, detail::beside(weight, indices));
}

TANDEM_OPS const Tensor& embedding_renorm_(const Tensor& weight, const Tensor& indices, Scalar max_norm,
                                           Scalar norm_type) {
  const OpScope op("embedding_renorm_");
  detail::check_table(weight, indices);
  const NoGradGuard no_grad;
  const Tensor named = reshape(detail::beside(weight, indices), {indices.numel()});
  const Tensor rows = renorm(index_select(weight, 0, named), norm_type, 0, max_norm);
  return index_copy_(weight, 0, named, to(rows, weight.dtype()));
}

TANDEM_OPS Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, bool /*sparse_grad*/) {
  const Op<"gather"> op;
  checks::defined("x", x);
  checks::index("index", index);
  const int64_t d = wrap_dim(dim, x.dim());
  detail::check_fits(index, "x", x.sizes(), x.dtype(), d, true);
  return op.apply(
      [&](const Tensor& x, const Tensor& index) {
        Tensor y = empty(index.sizes(), x.options());
        if (y.numel() > 0) {
          backend(x).gather(detail::indexed(y), detail::indexed(x), d, detail::indexed(index));
        }
        return Result{y, save(index), [d, xs = x.impl().sizes](const Backward& b) -> Grads {
                        return {gather_backward(b.grad(), xs, d, b.saved(0)), Tensor()};
                      }};
      },
      x, detail::beside(x, index));
}

TANDEM_OPS Tensor gather_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  const OpScope op("gather_backward");
  checks::defined("gy", gy);
  checks::index("index", index);
  checks::sizes("gy", gy, index.sizes());
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  detail::check_fits(index, "the result", sizes, gy.dtype(), d, true);
  return detail::scatter_add_op({}, sizes, d, index, gy);
}

TANDEM_OPS Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  const OpScope op("scatter_add");
  const int64_t d = detail::check_scatter_add(x, dim, index, src);
  return detail::scatter_add_op(x, x.impl().sizes, d, index, detail::covered(src, index));
}

TANDEM_OPS const Tensor& scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const OpScope op("scatter_add_");
  const int64_t d = detail::check_scatter_add(self, dim, index, src);
  checks::same_dtype("self", self, "src", src);
  detail::check_devices({&self, &index, &src});
  return apply_in_place(
      op, self, {index, src},
      [&](const Tensor& self) {
        const Tensor at = detail::beside(self, index), part = detail::beside(self, detail::covered(src, index));
        detail::accumulate_in_place(self, part, [&](const Tensor& y) {
          backend(y).scatter_add(detail::indexed(y), d, detail::indexed(at), detail::indexed(part));
        });
      },
      [&](const Tensor& old) { return scatter_add(old, d, index, src); });
}

TANDEM_OPS Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  const Op<"index_select"> op;
  checks::defined("x", x);
  checks::index("index", index);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(index.dim() <= 1, ShapeError, "index is {}, but must have rank 1; flatten() it", checks::show(index));
  TANDEM_CHECK(x.dim() > 0 || index.numel() == 1, ShapeError, "index is {}, but x has rank 0; give one entry",
               checks::show(index));
  return op.apply(
      [&](const Tensor& x, const Tensor& index) {
        Tensor y = empty(detail::with_size(x.sizes(), d, index.numel()), x.options());
        if (y.numel() > 0) {
          backend(x).index_select(detail::indexed(y), detail::indexed(x), d, detail::indexed(index));
        }
        return Result{y, save(index), [d, xs = x.impl().sizes](const Backward& b) -> Grads {
                        return {index_select_backward(b.grad(), xs, d, b.saved(0)), Tensor()};
                      }};
      },
      x, detail::beside(x, index));
}

TANDEM_OPS Tensor index_select_backward(const Tensor& gy, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  const OpScope op("index_select_backward");
  checks::defined("gy", gy);
  checks::index("index", index);
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  checks::sizes("gy", gy, detail::with_size(sizes, d, index.numel()));
  return detail::index_add_op({}, sizes, d, index, gy);
}

TANDEM_OPS Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha) {
  const OpScope op("index_add");
  const int64_t d = detail::check_index_add(x, dim, index, src);
  checks::alpha(x, src, alpha);
  const bool scaled = alpha.to_double() != 1;
  return detail::index_add_op(x, x.impl().sizes, d, index, scaled ? to(mul(src, alpha), src.dtype()) : src);
}

TANDEM_OPS const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                    Scalar alpha) {
  const OpScope op("index_add_");
  const int64_t d = detail::check_index_add(self, dim, index, src);
  checks::alpha(self, src, alpha);
  checks::same_dtype("self", self, "src", src);
  detail::check_devices({&self, &index, &src});
  return apply_in_place(
      op, self, {index, src},
      [&](const Tensor& self) {
        const Tensor at = detail::beside(self, index), from = detail::beside(self, src);
        const Tensor scaled = alpha.to_double() != 1 ? to(mul(from, alpha), src.dtype()) : from;
        detail::accumulate_in_place(self, scaled, [&](const Tensor& y) {
          backend(y).index_add(detail::indexed(y), d, detail::indexed(at), detail::indexed(scaled));
        });
      },
      [&](const Tensor& old) { return index_add(old, d, index, src, alpha); });
}

}  // namespace tandem
