#pragma once
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/margin_loss.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm.h"
#include "tandem/ops/vector_norm_forms-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// ||x - y + eps||_p along the last dimension.
inline Tensor margin_distance(const Tensor& x, const Tensor& y, double p, double eps) {
  return norm(add(sub(x, y), eps), p, {-1});
}

inline void check_triplet(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
  checks::floating("anchor", anchor);
  checks::floating("positive", positive);
  checks::floating("negative", negative);
  TANDEM_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim() && anchor.dim() > 0, ShapeError,
               "anchor is {}, positive is {}, negative is {}; they must have one rank, at least 1",
               checks::show(anchor), checks::show(positive), checks::show(negative));
  broadcast_shapes(broadcast_shapes(anchor.sizes(), positive.sizes()), negative.sizes());
}

/// max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced.
template <class Distance>
Tensor triplet_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, bool swap,
                    LossReduction reduction, Distance distance) {
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (swap) far = minimum(far, distance(positive, negative));
  return reduce_losses(clamp(add(sub(near, far), margin), 0), reduction);
}

/// The checks of class losses: x is [N, C] or [C].
inline void check_scores(const Tensor& x, const Tensor& target) {
  checks::floating("x", x);
  TANDEM_CHECK((x.dim() == 1 || x.dim() == 2) && x.size(-1) > 0, ShapeError,
               "x is {}, but must be [N, C] or [C] with at least one class", checks::show(x));
  checks::index("target", target);
}

}  // namespace detail

TANDEM_OPS Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                                      LossReduction reduction) {
  const Op<"margin_ranking_loss"> op;
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  checks::defined("target", target);
  TANDEM_CHECK(x1.dim() == x2.dim() && x1.dim() == target.dim(), ShapeError,
               "x1 is {}, x2 is {}, target is {}; they must have one rank", checks::show(x1), checks::show(x2),
               checks::show(target));
  const std::vector<Tensor> cast = detail::cast_inputs(op, {x1, x2, target});
  const amp::AutocastOff no_autocast;
  const DType t = result_type({cast[0], cast[1], cast[2]});
  const auto compute = [&](DType dtype) {
    const Tensor difference = sub(to(cast[0], dtype), cast[1]);
    return detail::reduce_losses(clamp(add(neg(mul(difference, cast[2])), margin), 0), reduction);
  };
  return to(detail::in_f64_unless_finite(checks::sum_dtype(t), compute), t);
}

TANDEM_OPS Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                                        LossReduction reduction) {
  const Op<"cosine_embedding_loss"> op;
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  checks::defined("target", target);
  const int64_t rank = x1.dim();
  TANDEM_CHECK((rank == 1 || rank == 2) && x2.dim() == rank && target.dim() == rank - 1, ShapeError,
               "x1 is {}, x2 is {}, target is {}; they must be [N, D], [N, D] and [N], or [D], [D] and []",
               checks::show(x1), checks::show(x2), checks::show(target));
  const std::vector<Tensor> cast = detail::cast_inputs(op, {x1, x2, target});
  const amp::AutocastOff no_autocast;
  const DType t = result_type(cast[0], cast[1]), wide = checks::sum_dtype(t);
  const Tensor a = to(cast[0], wide), b = to(cast[1], wide);
  const auto unit = [](const Tensor& x) { return detail::divided_by_norm(x, 2, {-1}, 1e-6, true); };
  const Tensor cosine = sum(mul(unit(a), unit(b)), {-1});
  const Tensor positive = where(eq(cast[2], 1), rsub(cosine, 1), 0);
  const Tensor negative = where(eq(cast[2], -1), clamp(sub(cosine, margin), 0), 0);
  return to(detail::reduce_losses(add(positive, negative), reduction), t);
}

TANDEM_OPS Tensor multi_margin_loss(const Tensor& x, const Tensor& target, Scalar p, Scalar margin,
                                    const Tensor& weight, LossReduction reduction) {
  const Op<"multi_margin_loss"> op;
  detail::check_scores(x, target);
  const double power = p.to_double();
  TANDEM_CHECK(power == 1 || power == 2, StateError, "p = {}, but must be 1 or 2", power);
  checks::sizes("target", target, x.dim() == 1 ? Dims{} : Dims{x.size(0)});
  const int64_t classes = x.size(-1);
  if (weight.defined()) {
    checks::floating("weight", weight);
    checks::sizes("weight", weight, {classes});
  }
  const std::vector<Tensor> cast = detail::cast_inputs(op, {x, target, weight});
  const amp::AutocastOff no_autocast;
  const DType t = cast[0].dtype();
  const Tensor index = unsqueeze(cast[1], -1);
  const Tensor others = ne(arange(classes, TensorOptions(index.dtype()).device(x.device())), index);
  const auto compute = [&](DType dtype) {
    const Tensor scores = to(cast[0], dtype);
    Tensor terms = clamp(add(sub(scores, gather(scores, -1, index)), margin), 0);
    if (power == 2) terms = square(terms);
    if (weight.defined()) {
      const Tensor chosen = index_select(to(cast[2], dtype), 0, reshape(index, {-1}));
      terms = mul(terms, view(chosen, index.sizes()));
    }
    return detail::reduce_losses(mean(where(others, terms, 0), {-1}), reduction);
  };
  return to(detail::in_f64_unless_finite(power == 2 && !x.is_cpu() ? kDouble : checks::sum_dtype(t), compute), t);
}

TANDEM_OPS Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  const Op<"multilabel_margin_loss"> op;
  detail::check_scores(x, target);
  checks::sizes("target", target, x.sizes());
  const Dims rows{x.dim() == 1 ? 1 : x.size(0), x.size(-1)};
  DType t = x.dtype();
  const Tensor losses = op.apply(
      [&](const Tensor& x, const Tensor& target) {
        t = x.dtype();
        const DType wide = checks::sum_dtype(x.dtype());
        const Tensor scores = view(contiguous(to(x, wide)), rows);
        const Tensor classes = view(contiguous(to(target, kLong)), rows);
        const Tensor is_target = empty(rows, x.options().dtype(kBool));
        Tensor y = empty({rows[0]}, x.options().dtype(wide));
        if (y.numel() > 0) backend(x).multilabel_margin(y, is_target, scores, classes);
        if (x.dim() == 1) y = view(y, {});
        return Result{y, save(x, classes, is_target), [](const Backward& b) -> Grads {
                        const Tensor gx = Op<"multilabel_margin_loss_backward">().apply(
                            [&](const Tensor& gy, const Tensor& x, const Tensor& classes, const Tensor& is_target) {
                              const Tensor gx = empty(classes.sizes(), gy.options());
                              const Tensor scores = view(contiguous(to(x, gy.dtype())), classes.sizes());
                              if (gx.numel() > 0) {
                                backend(x).multilabel_margin_backward(gx, contiguous(gy), scores, classes, is_target);
                              }
                              return Result{view(gx, x.sizes()), {}, [](const Backward&) -> Grads {
                                              const OpScope op("multilabel_margin_loss");
                                              TANDEM_THROW(NotImplementedError,
                                                           "the gradient cannot be differentiated again; call "
                                                           "backward() without create_graph");
                                            }};
                            },
                            b.grad(), b.saved(0), b.saved(1), b.saved(2));
                        return {gx, Tensor()};
                      }};
      },
      x, target);
  return to(detail::reduce_losses(losses, reduction), t);
}

TANDEM_OPS Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                      double margin, double p, double eps, bool swap, LossReduction reduction) {
  const Op<"triplet_margin_loss"> op;
  detail::check_triplet(anchor, positive, negative);
  TANDEM_CHECK(p > 0, StateError, "p = {}, but must be positive", p);
  const std::vector<Tensor> cast = detail::cast_inputs(op, {anchor, positive, negative});
  const amp::AutocastOff no_autocast;
  const DType t = result_type({cast[0], cast[1], cast[2]});
  const auto compute = [&](DType dtype) {
    return detail::triplet_loss(
        to(cast[0], dtype), to(cast[1], dtype), to(cast[2], dtype), margin, swap, reduction,
        [&](const Tensor& x, const Tensor& y) { return detail::margin_distance(x, y, p, eps); });
  };
  return to(detail::in_f64_unless_finite(checks::sum_dtype(t), compute), t);
}

TANDEM_OPS Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                                    const Tensor& negative, const DistanceFunction& distance,
                                                    double margin, bool swap, LossReduction reduction) {
  const OpScope op("triplet_margin_with_distance_loss");
  detail::check_triplet(anchor, positive, negative);
  if (distance) {
    return detail::triplet_loss(
        anchor, positive, negative, margin, swap, reduction, [&](const Tensor& x, const Tensor& y) {
          const UserCodeScope user("triplet_margin_with_distance_loss");
          const Tensor d = distance(x, y);
          TANDEM_CHECK(d.defined(), StateError, "the distance function returned an undefined tensor");
          return d;
        });
  }
  return detail::in_f64_unless_finite(anchor.dtype(), [&](DType dtype) {
    const auto cast = [&](const Tensor& x) { return dtype == anchor.dtype() ? x : to(x, dtype); };
    return detail::triplet_loss(
        cast(anchor), cast(positive), cast(negative), margin, swap, reduction,
        [](const Tensor& x, const Tensor& y) { return detail::margin_distance(x, y, 2, 1e-6); });
  });
}

}  // namespace tandem
