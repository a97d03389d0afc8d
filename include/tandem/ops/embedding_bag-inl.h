#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/embedding_bag.h"
#include "tandem/ops/index.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/search.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// gy's row for each index, times what the index contributes with: the gradient of the rows that were summed. bag: the
/// bag of each index. Undefined scale: 1. Terms of row padding_idx are 0.
inline Tensor bag_terms(const Tensor& gy, const Tensor& indices, const Tensor& bag, const Tensor& scale,
                        int64_t padding_idx) {
  Tensor terms = index_select(gy, 0, bag);
  if (scale.defined()) terms = mul(terms, unsqueeze(scale, 1));
  return padding_idx < 0 ? terms : where(unsqueeze(ne(indices, padding_idx), 1), terms, 0);
}

/// The gradient of per_sample_weights: the product of each index's row and its bag's gradient. One pass, unless it is
/// differentiated again.
inline Tensor bag_dots(const Tensor& gy, const Tensor& weight, const Tensor& indices, const Tensor& bag,
                       int64_t padding_idx) {
  Tensor dots;
  if (GradMode::is_enabled()) {
    dots = sum(mul(index_select(gy, 0, bag), index_select(weight, 0, indices)), {1});
  } else {
    dots = Op<"embedding_bag_backward">().apply(
        [&](const Tensor& gy, const Tensor& weight) {
          const Tensor y = empty(indices.sizes(), weight.options());
          if (y.numel() > 0) backend(weight).gathered_dots(y, gy, bag, weight, indices);
          return Result{y};
        },
        gy, weight);
  }
  return padding_idx < 0 ? dots : where(ne(indices, padding_idx), dots, 0);
}

/// embedding_bag of checked arguments: i64 indices [n] and offsets.
inline Tensor embedding_bag_op(const Op<"embedding_bag">& op, const Tensor& weight, const Tensor& indices,
                               const Tensor& offsets, const Tensor& scale, int64_t bags, BagMode mode,
                               int64_t padding_idx, bool scale_grad_by_freq) {
  const int64_t rows = weight.size(0), width = weight.size(1);
  return op.apply(
      [&](const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& scale) {
        const Tensor y = empty({bags, width}, weight.options());
        const Tensor winner = mode == BagMode::Max ? empty(y.sizes(), indices.options()) : Tensor();
        const Tensor factors = scale.defined() ? contiguous(scale) : scale;
        if (bags > 0) {
          backend(weight).embedding_bag(y, winner, weight, indices, offsets, factors, static_cast<kernels::Bag>(mode),
                                        padding_idx);
        }
        if (mode == BagMode::Max) {
          return Result{y, save(winner), [rows, width](const Backward& b) -> Grads {
                          const Tensor winner = b.saved(0), found = ge(winner, 0);
                          const Tensor g = where(found, to(b.grad(), b.wanted(0)), 0);
                          return {gather_backward(g, {rows, width}, 0, where(found, winner, 0)), {}, {}, {}};
                        }};
        }
        return Result{y, save(weight, indices, offsets, scale), [=](const Backward& b) -> Grads {
                        const Tensor indices = b.saved(1), offsets = b.saved(2), scale = b.saved(3);
                        const int64_t n = indices.numel();
                        const Tensor begins = offsets.size(0) > bags ? narrow(offsets, 0, 0, bags) : offsets;
                        const Tensor bag = sub(searchsorted(begins, arange(n, indices.options()), false, true), 1);
                        Grads grads(4);
                        if (b.needs(0)) {
                          Tensor g = to(b.grad(), b.wanted(0));
                          if (mode == BagMode::Mean) {
                            const TensorOptions options = g.options().dtype(checks::sum_dtype(g.dtype()));
                            const Tensor one =
                                padding_idx < 0 ? ones({n}, options) : to(ne(indices, padding_idx), options.dtype());
                            const Tensor count = index_select_backward(one, {bags}, 0, bag);
                            g = to(div(g, unsqueeze(clamp(count, 1), 1)), g.dtype());
                          }
                          g = bag_terms(g, indices, bag, scale.defined() ? to(scale, g.dtype()) : scale, padding_idx);
                          if (scale_grad_by_freq) g = over_frequency(g, indices, rows);
                          grads[0] = index_select_backward(g, {rows, width}, 0, indices);
                        }
                        if (b.needs(3)) {
                          grads[3] = to(bag_dots(to(b.grad(), scale.dtype()), b.saved(0), indices, bag, padding_idx),
                                        b.wanted(3));
                        }
                        return grads;
                      }};
      },
      weight, indices, offsets, scale);
}

}  // namespace detail

TANDEM_OPS Tensor embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, BagMode mode,
                                const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                                bool scale_grad_by_freq) {
  const Op<"embedding_bag"> op;
  checks::floating("weight", weight);
  detail::check_table(weight, indices);
  TANDEM_CHECK(indices.dim() == 1 || indices.dim() == 2, ShapeError, "indices is {}, but must be [n] or [bags, length]",
               checks::show(indices));
  TANDEM_CHECK((indices.dim() == 1) == offsets.defined(), ShapeError,
               "indices is {} and offsets is {}; indices of rank 1 need offsets, and those of rank 2 must have none",
               checks::show(indices), offsets.defined() ? checks::show(offsets) : "undefined");
  TANDEM_CHECK(mode <= BagMode::Max, StateError, "mode = {}; it must be kSum, kMean or kMax", static_cast<int>(mode));
  TANDEM_CHECK(padding_idx >= -1 && padding_idx < weight.size(0), IndexError,
               "padding_idx = {}, but weight {} has {} entries; -1 means none", padding_idx, checks::show(weight),
               weight.size(0));
  TANDEM_CHECK(!scale_grad_by_freq || mode != BagMode::Max, StateError,
               "scale_grad_by_freq is set, but does not apply to kMax; use kSum or kMean");
  if (per_sample_weights.defined()) {
    TANDEM_CHECK(mode == BagMode::Sum, StateError, "per_sample_weights are given, but apply only to sums; use kSum");
    checks::sizes("per_sample_weights", per_sample_weights, indices.sizes());
    checks::same_dtype("weight", weight, "per_sample_weights", per_sample_weights);
  }
  const int64_t n = indices.numel();
  Tensor begins = offsets;
  int64_t bags = 0;
  if (indices.dim() == 2) {
    TANDEM_CHECK(!include_last_offset, StateError, "include_last_offset is set, but indices {} have no offsets",
                 checks::show(indices));
    bags = indices.size(0);
    begins = mul(arange(bags, indices.options().dtype(kLong)), indices.size(1));
  } else {
    checks::index("offsets", offsets);
    TANDEM_CHECK(offsets.dim() == 1 && offsets.numel() >= (include_last_offset ? 1 : 0), ShapeError,
                 "offsets is {}, but must be [bags]{}", checks::show(offsets), include_last_offset ? " + 1" : "");
    bags = offsets.numel() - (include_last_offset ? 1 : 0);
    detail::check_devices({&indices, &offsets});
  }
  const auto flat = [n](const Tensor& x) { return x.defined() ? reshape(x, {n}) : x; };
  return detail::embedding_bag_op(op, weight, contiguous(to(flat(indices), kLong)), contiguous(to(begins, kLong)),
                                  flat(per_sample_weights), bags, mode, padding_idx, scale_grad_by_freq);
}

}  // namespace tandem
