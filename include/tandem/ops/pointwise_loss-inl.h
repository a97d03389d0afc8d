#pragma once
#include <cmath>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/pointwise_loss.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"

namespace tandem {

namespace detail {

/// The checks of losses of x - target.
inline void check_regression(const Tensor& x, const Tensor& target) {
  checks::floating("x", x);
  checks::floating("target", target);
  if (x.sizes() == target.sizes()) return;
  warn_once(fmt::format("x is {}, target is {}: they broadcast to {}, which is rarely intended; give them equal sizes",
                        checks::show(x), checks::show(target), to_string(broadcast_shapes(x.sizes(), target.sizes()))));
}

/// target log(target) - target + log(2 pi target) / 2 where target > 1, else 0.
inline Tensor stirling_term(const Tensor& target) {
  const Tensor log_target = log(target);
  const Tensor term = add(mul(target, sub(log_target, 1)), mul(add(log_target, std::log(2 * M_PI)), 0.5));
  return where(le(target, 1), 0, term);
}

}  // namespace detail

TANDEM_OPS Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  const Op<"l1_loss"> op;
  detail::check_regression(x, target);
  const detail::PairLoss loss{Binary::absolute_difference, Binary::difference_sign};
  return detail::pair_loss(op, loss, x, target, reduction, [](const Tensor& x, const Tensor& target, size_t i) {
    return i == 0 ? sign(sub(x, target)) : sign(sub(target, x));
  });
}

TANDEM_OPS Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double beta) {
  const Op<"smooth_l1_loss"> op;
  detail::check_regression(x, target);
  checks::not_negative("beta", beta);
  const detail::PairLoss loss{Binary::smooth_l1_loss, Binary::smooth_l1_slope, beta};
  return detail::pair_loss(op, loss, x, target, reduction, [beta](const Tensor& x, const Tensor& target, size_t i) {
    const Tensor d = i == 0 ? sub(x, target) : sub(target, x);
    return beta > 0 ? clamp(div(d, beta), -1, 1) : sign(d);
  });
}

TANDEM_OPS Tensor huber_loss(const Tensor& x, const Tensor& target, LossReduction reduction, double delta) {
  const Op<"huber_loss"> op;
  detail::check_regression(x, target);
  TANDEM_CHECK(delta > 0, StateError, "delta = {}, but must be positive", delta);
  const detail::PairLoss loss{Binary::huber_loss, Binary::huber_slope, delta};
  return detail::pair_loss(op, loss, x, target, reduction, [delta](const Tensor& x, const Tensor& target, size_t i) {
    return clamp(i == 0 ? sub(x, target) : sub(target, x), -delta, delta);
  });
}

TANDEM_OPS Tensor kl_div(const Tensor& x, const Tensor& target, LossReduction reduction, bool log_target) {
  const Op<"kl_div"> op;
  checks::floating("x", x);
  checks::floating("target", target);
  const detail::PairLoss loss{
      .loss = log_target ? Binary::kl_div_log_target : Binary::kl_div, .slope = {}, .is_f64_on_devices = false};
  return detail::pair_loss(
      op, loss, x, target, reduction, [log_target](const Tensor& x, const Tensor& given, size_t i) {
        if (i == 0 && !log_target) return neg(given);
        const Tensor t = to(given, checks::sum_dtype(given.dtype()));  // e^t may be beyond the range of f16
        if (i == 0) return neg(exp(t));
        return log_target ? mul(exp(t), add(sub(t, x), 1)) : add(sub(log(t), x), 1);
      });
}

TANDEM_OPS Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full, double eps,
                                   LossReduction reduction) {
  const Op<"poisson_nll_loss"> op;
  checks::floating("x", x);
  checks::defined("target", target);
  checks::not_negative("eps", eps);
  const detail::PairLoss loss{
      log_input ? Binary::poisson_nll_log_input : Binary::poisson_nll, {}, eps, full ? detail::stirling_term : nullptr};
  return detail::pair_loss(op, loss, x, target, reduction,
                           [log_input, full, eps](const Tensor& given, const Tensor& target, size_t i) {
                             const DType wide = checks::sum_dtype(result_type(given, target));  // eps may be 0 in f16
                             const Tensor x = to(given, wide), t = to(target, wide);
                             if (i == 0) return log_input ? sub(exp(x), t) : rsub(div(t, add(x, eps)), 1);
                             const Tensor slope = neg(log_input ? x : log(add(x, eps)));
                             return full ? add(slope, where(le(t, 1), 0, add(log(t), mul(reciprocal(t), 0.5)))) : slope;
                           });
}

TANDEM_OPS Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full, double eps,
                                    LossReduction reduction) {
  const Op<"gaussian_nll_loss"> op;
  checks::floating("x", x);
  checks::floating("target", target);
  checks::floating("var", var);
  TANDEM_CHECK(eps > 0, StateError, "eps = {}, but must be positive", eps);
  const Dims sizes = x.impl().sizes;
  const bool without_last =
      var.dim() + 1 == x.dim() && std::equal(var.sizes().begin(), var.sizes().end(), sizes.begin());
  if (!without_last && var.sizes() != x.sizes()) {
    int64_t other = 0, ones = 0;
    for (size_t d = 0; d < sizes.size() && var.dim() == x.dim(); ++d) {
      if (var.sizes()[d] == sizes[d]) continue;
      ++other;
      if (var.sizes()[d] == 1) ++ones;
    }
    TANDEM_CHECK(other == 1 && ones == 1, ShapeError,
                 "var is {}, but x is {}; var must have x's sizes, x's sizes with one of them 1, or without the last",
                 checks::show(var), checks::show(x));
  }
  if (var.is_cpu()) {
    NoGradGuard no_grad;
    TANDEM_CHECK(!any(lt(var, 0)).item<bool>(), StateError, "var has a negative entry; variances must be at least 0");
  }
  const std::vector<Tensor> cast = detail::cast_inputs(op, {x, target, var});
  const amp::AutocastOff no_autocast;
  const DType t = result_type({cast[0], cast[1], cast[2]});
  const auto compute = [&](DType wide) {
    Tensor v = to(without_last ? unsqueeze(cast[2], -1) : cast[2], wide);
    {
      // v plus a constant, so that the gradient passes the bound.
      Tensor missing;
      {
        NoGradGuard no_grad;
        missing = sub(clamp(v, eps), v);
      }
      v = add(v, missing);
    }
    const Tensor d = sub(to(cast[0], wide), to(cast[1], wide));
    Tensor losses = mul(add(log(v), mul(d, div(d, v))), 0.5);
    if (full) losses = add(losses, 0.5 * std::log(2 * M_PI));
    return detail::reduce_losses(losses, reduction);
  };
  return to(detail::in_f64_unless_finite(checks::sum_dtype(t), compute), t);
}

TANDEM_OPS Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin, LossReduction reduction) {
  const Op<"hinge_embedding_loss"> op;
  checks::floating("x", x);
  checks::defined("target", target);
  const detail::PairLoss loss{Binary::hinge_embedding, Binary::hinge_embedding_slope, margin};
  return detail::pair_loss(op, loss, x, target, reduction, [margin](const Tensor& x, const Tensor& target, size_t i) {
    if (i == 1) return Tensor();
    const Tensor below = logical_and(ne(target, 1), lt(x, margin));
    return sub(to(ne(target, -1), x.dtype()), to(below, x.dtype()));
  });
}

TANDEM_OPS Tensor soft_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  const Op<"soft_margin_loss"> op;
  checks::floating("x", x);
  checks::defined("target", target);
  const detail::PairLoss loss{
      .loss = Binary::soft_margin, .slope = Binary::soft_margin_slope, .is_f64_on_devices = false};
  return detail::pair_loss(op, loss, x, target, reduction, [](const Tensor& x, const Tensor& target, size_t i) {
    return neg(mul(i == 0 ? target : x, sigmoid(neg(mul(x, target)))));
  });
}

TANDEM_OPS Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight,
                                              LossReduction reduction) {
  const OpScope op("multilabel_soft_margin_loss");
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 1, ShapeError, "x is {}, but must be [C] or [N, C]", checks::show(x));
  const Tensor losses = binary_cross_entropy_with_logits(x, target, weight, {}, LossReduction::None);
  return detail::reduce_losses(mean(losses, {-1}), reduction);
}

}  // namespace tandem
