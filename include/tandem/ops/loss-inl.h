#pragma once
#include <cmath>

#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/math/binary.h"
#include "tandem/math/reduce.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/index.h"
#include "tandem/ops/loss.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/reduce_forms-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/softmax.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Checks that x and target are floating and have equal sizes.
inline void check_binary_loss(const Tensor& x, const Tensor& target) {
  checks::floating("x", x);
  checks::floating("target", target);
  TANDEM_CHECK(x.sizes() == target.sizes(), ShapeError,
               "x is {}, but target is {}; they must have equal sizes, use unsqueeze() or squeeze()", checks::show(x),
               checks::show(target));
}
inline void check_loss_weight(const char* which, const Tensor& weight, const Tensor& x) {
  if (!weight.defined()) return;
  checks::floating(which, weight);
  TANDEM_CHECK(broadcast_shapes(weight.sizes(), x.sizes()) == x.impl().sizes, ShapeError,
               "{} is {}, which does not broadcast to x {}", which, checks::show(weight), checks::show(x));
}

/// Weights and reduces the losses of single elements, in differentiable ops, so that the weight has a gradient too.
inline Tensor weigh_and_reduce(const Tensor& losses, const Tensor& weight, LossReduction reduction) {
  if (!weight.defined()) return reduce_losses(losses, reduction);
  // Products that are still to be summed are kept in f32 or f64.
  const auto compute = [&](DType dtype) { return reduce_losses(mul(to(losses, dtype), weight), reduction); };
  return to(in_f64_unless_finite(checks::sum_dtype(losses.dtype()), compute), losses.dtype());
}

/// x: [N, C, ...], target: [N, ...].
inline Tensor nll_loss_op(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction,
                          int64_t ignore_index) {
  const Op<"nll_loss"> op;
  return op.apply(
      [&](const Tensor& x, const Tensor& target, const Tensor& weight) {
        // Weights times log-probabilities may be beyond the range of f32.
        const TensorOptions wide = x.options().dtype(weight.defined() ? kDouble : checks::sum_dtype(x.dtype()));
        const Tensor valid = ne(target, ignore_index);
        // Ignored entries get class 0, so that every index is valid, and the factor 0.
        const Tensor classes = contiguous(where(valid, target, 0));
        const Tensor index = unsqueeze(classes, 1);
        Tensor picked = empty(index.sizes(), x.options());
        if (picked.numel() > 0) backend(x).gather(picked, x, 1, index);
        picked = squeeze(picked, 1);
        Tensor factor;
        if (weight.defined()) {
          factor = where(valid, view(index_select(weight, 0, view(classes, {-1})), classes.sizes()), 0);
          factor = to(factor, wide.dtype());
        } else {
          factor = to(valid, wide.dtype());
        }
        Tensor divisor;
        if (reduction == LossReduction::Mean) divisor = sum(factor);
        // dl/dpicked. `where` comes last, because without valid entries the divisor is 0, and the gradient must be 0.
        const Tensor zero = zeros({}, wide);
        const Tensor slope = where(valid, neg(divisor.defined() ? div(factor, divisor) : factor), zero);
        // `where` again: an ignored entry with a log-probability of -inf must not become NaN.
        Tensor y = where(valid, neg(mul(factor, picked)), zero);
        if (reduction != LossReduction::None) y = sum(y, kDouble);
        if (divisor.defined()) y = div(y, divisor);
        return Result{to(y, x.dtype()), save(classes, slope), [xs = x.impl().sizes](const Backward& b) -> Grads {
                        const Tensor g = to(mul(b.saved(1), b.grad()), b.wanted(0));
                        return {gather_backward(unsqueeze(g, 1), xs, 1, unsqueeze(b.saved(0), 1)), Tensor(), Tensor()};
                      }};
      },
      x, target, weight);
}

/// dL/dx of cross_entropy. g is dL/dloss of each row, or one number for all; max and log_sum are outputs of its kernel.
inline Tensor cross_entropy_slope(const Tensor& g, const Tensor& x, const Tensor& max, const Tensor& log_sum,
                                  const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype) {
  if (!GradMode::is_enabled()) {
    return Op<"cross_entropy_backward">().apply(
        [&](const Tensor& g, const Tensor& x) {
          Tensor gx = empty_like(x, dtype);
          backend(x).cross_entropy_backward(gx, contiguous(g), x, max, log_sum, target, weight, ignore_index);
          return Result{gx};
        },
        g, x);
  }
  const int64_t d = class_dim(x);
  const Tensor valid = ne(target, ignore_index), classes = where(valid, target, 0);
  Tensor s = neg(g);
  if (weight.defined()) {  // a constant: the loss is not differentiated by it
    const Tensor chosen = index_select(weight.detach(), 0, view(classes, {classes.numel()}));
    s = mul(s, view(chosen, classes.sizes()));
  }
  s = where(valid, s, zeros({}, s.options()));
  const Tensor glogp = gather_backward(unsqueeze(s, d), x.sizes(), d, unsqueeze(classes, d));
  return log_softmax_backward(glogp, log_softmax(x, d, g.dtype()), d);
}

/// cross_entropy with classes as target. One pass over the logits computes the losses and, for the mean, their weights;
/// another computes the gradient.
inline Tensor cross_entropy_op(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction,
                               int64_t ignore_index) {
  const Op<"cross_entropy"> op;
  return op.apply(
      [&](const Tensor& x, const Tensor& given_target, const Tensor& given_weight, std::optional<DType> dtype) {
        const TensorOptions wide = x.options().dtype(checks::sum_dtype(x.dtype()));
        const Tensor target = contiguous(given_target);
        const Tensor weight = given_weight.defined() ? contiguous(to(given_weight, wide.dtype())) : Tensor();
        const int64_t rows = target.numel();
        const Tensor max = empty({rows}, wide), log_sum = empty({rows}, wide);
        const auto run = [&](const Tensor& loss, const Tensor& row_weight) {
          backend(x).cross_entropy(loss, row_weight, max, log_sum, x, target, weight, ignore_index);
        };
        const DType t = promote_types(x.dtype(), dtype.value_or(x.dtype()));
        Tensor y, divisor;
        if (reduction == LossReduction::Mean) {
          const Tensor terms = empty({2, rows}, wide);
          run(select(terms, 0, 0), select(terms, 0, 1));
          const Tensor totals = sum(terms, {1}, false, kDouble);  // may be beyond the range of f32
          divisor = select(totals, 0, 1);
          y = detail::binary_kernel(kernels::Binary::div, select(totals, 0, 0), divisor, t);
        } else {
          y = empty(target.sizes(), wide);
          run(y, Tensor());
          if (reduction == LossReduction::Sum) y = sum(y);
        }
        return Result{to(y, t), save(x, target, weight, max, log_sum, divisor),
                      [ignore_index](const Backward& b) -> Grads {
                        Grads grads(3);
                        if (!b.needs(0)) return grads;
                        const Tensor max = b.saved(3), divisor = b.saved(5);
                        Tensor g = to(b.grad(), max.dtype());
                        if (divisor.defined()) g = detail::quotient(g, divisor, g.dtype());  // divisor: f64
                        grads[0] = cross_entropy_slope(g, b.saved(0), max, b.saved(4), b.saved(1), b.saved(2),
                                                       ignore_index, b.wanted(0));
                        return grads;
                      }};
      },
      x, target, weight, std::optional<DType>());
}

/// Checks shared by nll_loss and cross_entropy.
inline void check_class_loss(const Tensor& x, const Tensor& target, const Tensor& weight) {
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 1, ShapeError, "x is {}, but must be [C], [N, C] or [N, C, d1, ...]", checks::show(x));
  const int64_t classes = x.size(class_dim(x));
  TANDEM_CHECK(classes > 0, ShapeError, "x is {}, which has no classes", checks::show(x));
  checks::defined("target", target);
  if (!weight.defined()) return;
  checks::floating("weight", weight);
  checks::sizes("weight", weight, {classes});
}

/// Checks that target contains classes and has x's sizes without the class dimension.
inline void check_classes(const Tensor& x, const Tensor& target) {
  checks::index("target", target);
  Dims expected = x.impl().sizes;
  expected.erase(static_cast<size_t>(class_dim(x)));
  TANDEM_CHECK(target.sizes() == IntArrayRef(expected), ShapeError, "x is {}, so target must be {}, but is {}",
               checks::show(x), to_string(expected), checks::show(target));
}

/// Returns a per-class weight as a view that broadcasts over x.
inline Tensor over_classes(const Tensor& weight, const Tensor& x) {
  if (x.dim() == 1) return weight;
  Dims sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = weight.numel();
  return view(contiguous(weight), sizes);
}

/// cross_entropy of log-probabilities in f32 or f64 against probabilities.
inline Tensor probability_loss(const Tensor& logp, const Tensor& given, const Tensor& weight, LossReduction reduction,
                               double smoothing, int64_t class_dim) {
  const Tensor target = is_reduced_floating_point(given.dtype()) ? to(given, logp.dtype()) : given;
  const int64_t classes = logp.size(class_dim);
  const Tensor mixed =
      smoothing > 0 ? add(mul(target, 1 - smoothing), smoothing / static_cast<double>(classes)) : target;
  Tensor terms = mul(logp, mixed);
  if (weight.defined()) terms = mul(terms, over_classes(weight, logp));
  if (reduction == LossReduction::None) return neg(sum(terms, {class_dim}));
  return reduction == LossReduction::Sum ? neg(sum(terms)) : mul(mean(terms), -static_cast<double>(classes));
}

/// The uniform part of label smoothing: -mean_c weight[c] logp[i, c] over the entries that are not ignored. logp is f32
/// or f64.
inline Tensor smooth_loss(const Tensor& logp, const Tensor& target, const Tensor& weight, LossReduction reduction,
                          int64_t ignore_index, int64_t class_dim) {
  const Tensor terms = weight.defined() ? mul(logp, over_classes(weight, logp)) : logp;
  const Tensor valid = ne(target, ignore_index);
  Tensor losses = neg(mean(terms, {class_dim}));
  losses = where(valid, losses, zeros({}, losses.options()));
  if (reduction == LossReduction::None) return losses;
  const Tensor total = sum(losses, kDouble);
  if (reduction == LossReduction::Sum) return total;
  if (!weight.defined()) return div(total, sum(valid, total.dtype()));
  // As in nll_loss, the mean divides by the weights of the targets.
  const Tensor classes = reshape(where(valid, target, 0), {-1});
  const Tensor chosen = view(index_select(weight, 0, classes), target.sizes());
  return div(total, sum(where(valid, chosen, zeros({}, weight.options())), total.dtype()));
}

}  // namespace detail

TANDEM_OPS Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction,
                           int64_t ignore_index) {
  const OpScope op("nll_loss");
  checks::reduction(reduction);
  detail::check_class_loss(x, target, weight);
  detail::check_classes(x, target);
  if (x.dim() > 1) return detail::nll_loss_op(x, target, weight, reduction, ignore_index);
  const Tensor y = detail::nll_loss_op(unsqueeze(x, 0), unsqueeze(target, 0), weight, reduction, ignore_index);
  return reduction == LossReduction::None ? squeeze(y, 0) : y;
}

TANDEM_OPS Tensor nll_loss2d(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction,
                             int64_t ignore_index) {
  const OpScope op("nll_loss2d");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() == 4, ShapeError, "x is {}, but must be [N, C, H, W]; nll_loss takes other ranks",
               checks::show(x));
  return nll_loss(x, target, weight, reduction, ignore_index);
}

TANDEM_OPS Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, LossReduction reduction,
                                int64_t ignore_index, double label_smoothing) {
  const OpScope op("cross_entropy");
  checks::reduction(reduction);
  detail::check_class_loss(x, target, weight);
  TANDEM_CHECK(label_smoothing >= 0 && label_smoothing <= 1, StateError, "label_smoothing = {}, but must be in [0, 1]",
               label_smoothing);
  const bool probabilities = target.is_floating_point();
  if (probabilities) {
    TANDEM_CHECK(target.sizes() == x.sizes(), ShapeError,
                 "target is {}: probabilities must have the sizes of x {}; for classes pass i64", checks::show(target),
                 checks::show(x));
    TANDEM_CHECK(ignore_index < 0, StateError,
                 "ignore_index = {} with probabilities as target {}; it applies only to class targets", ignore_index,
                 checks::show(target));
  } else {
    detail::check_classes(x, target);
  }
  const int64_t class_dim = detail::class_dim(x);
  return detail::in_f64_unless_finite(x.dtype(), [&](DType dtype) {
    const Tensor logits = to(x, dtype);
    if (!probabilities && label_smoothing == 0)
      return detail::cross_entropy_op(logits, target, weight, reduction, ignore_index);
    Tensor logp = log_softmax(detail::cast_of_composite("cross_entropy", logits), class_dim);
    DType t = logp.dtype();
    // Sums over many classes or samples overflow f16, even if their mean does not.
    logp = to(logp, checks::sum_dtype(t));
    if (probabilities) {
      t = promote_types(t, target.dtype());
      if (weight.defined()) t = promote_types(t, weight.dtype());
      return to(detail::probability_loss(logp, target, weight, reduction, label_smoothing, class_dim), t);
    }
    const Tensor likelihood = nll_loss(logp, target, weight, reduction, ignore_index);
    const Tensor smooth = detail::smooth_loss(logp, target, weight, reduction, ignore_index, class_dim);
    const Tensor y = add(mul(likelihood, 1 - label_smoothing), mul(smooth, label_smoothing));
    return to(y, t);
  });
}

// ---- mse_loss

TANDEM_OPS Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  const Op<"mse_loss"> op;
  checks::reduction(reduction);
  checks::floating("x", x);
  checks::floating("target", target);
  const bool same = x.sizes() == target.sizes();
  const Dims sizes = same ? x.impl().sizes : broadcast_shapes(x.sizes(), target.sizes());
  if (!same) {
    warn_once(
        fmt::format("x is {}, target is {}: they broadcast to {}, which is rarely intended; give them equal sizes",
                    checks::show(x), checks::show(target), to_string(sizes)));
  }
  return op.apply(
      [&](const Tensor& x, const Tensor& target) {
        const DType t = result_type(x, target);
        const auto terms = [&](kernels::Binary kernel, DType dtype) {
          const Tensor y = same ? empty_like(x, dtype) : empty(sizes, x.options().dtype(dtype));
          backend(x).binary(y, kernel, detail::broadcast_view(x, sizes), detail::broadcast_view(target, sizes), 1);
          return y;
        };
        // Squares of f16 values are kept in f32 if they are still to be summed.
        const bool sums = reduction != LossReduction::None;
        const DType wide = sums ? checks::sum_dtype(t) : t;
        Tensor y;
        if (!sums || x.is_cpu()) y = detail::reduce_losses(terms(kernels::Binary::squared_difference, wide), reduction);
        // A square may be beyond the range of f32 although the mean is not. The CPU, whose f64 sums are slower, looks.
        if (sums && (!x.is_cpu() || !std::isfinite(y.item<double>()))) {
          const Tensor d = terms(kernels::Binary::sub, wide);
          const detail::ReductionOutput total(detail::reduced_shape(d, {}, false), d.options().dtype(t));
          const bool mean = reduction == LossReduction::Mean;
          backend(x).reduce(total.kept, mean ? kernels::Reduction::mean_squares : kernels::Reduction::sum_squares, d);
          y = total.result;
        }
        y = to(y, t);
        return Result{y, save(x, target), [reduction](const Backward& b) -> Grads {
                        const Tensor x = b.saved(0), target = b.saved(1);
                        const bool both = b.needs(0) && b.needs(1);
                        const DType wanted = both ? result_type(x, target) : b.wanted(b.needs(0) ? 0 : 1);
                        const Tensor g = mse_loss_backward(b.grad(), x, target, reduction, wanted);
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = sum_to_size(g, x.sizes());
                        if (b.needs(1)) grads[1] = neg(sum_to_size(g, target.sizes()));
                        return grads;
                      }};
      },
      x, target);
}

TANDEM_OPS Tensor mse_loss_backward(const Tensor& gy, const Tensor& x, const Tensor& target, LossReduction reduction,
                                    std::optional<DType> dtype) {
  const Op<"mse_loss_backward"> op;
  checks::reduction(reduction);
  checks::floating("gy", gy);
  checks::floating("x", x);
  checks::floating("target", target);
  const Dims sizes = broadcast_shapes(x.sizes(), target.sizes());
  checks::floating_result(x, dtype);
  checks::sizes("gy", gy, reduction == LossReduction::None ? sizes : Dims{});
  const double k = reduction == LossReduction::Mean ? 2.0 / static_cast<double>(numel_of(sizes)) : 2.0;
  return op.apply(
      [&](const Tensor& gy, const Tensor& x, const Tensor& target) {
        const DType t = dtype.value_or(result_type(x, target)), wide = checks::sum_dtype(result_type(x, target));
        const bool same = x.sizes() == target.sizes();
        const Tensor factor = mul(to(gy, wide), k);
        Tensor difference = same ? empty_like(x, wide) : empty(sizes, x.options().dtype(wide));
        const Tensor gx = t == wide ? difference : empty_like(difference, t);
        backend(x).binary(difference, kernels::Binary::sub, detail::broadcast_view(x, sizes),
                          detail::broadcast_view(target, sizes), 1);
        backend(x).binary(gx, kernels::Binary::mul, difference, detail::broadcast_view(factor, sizes), 1);
        return Result{gx, save(gy, x, target), [k](const Backward& b) -> Grads {
                        const Tensor& g = b.grad();
                        const Tensor gy = b.saved(0), x = b.saved(1), target = b.saved(2);
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = sum_to_size(mul(mul(g, sub(x, target)), k), gy.sizes());
                        if (b.needs(1) || b.needs(2)) {
                          const Tensor gd = mul(mul(g, gy), k);
                          if (b.needs(1)) grads[1] = sum_to_size(gd, x.sizes());
                          if (b.needs(2)) grads[2] = neg(sum_to_size(gd, target.sizes()));
                        }
                        return grads;
                      }};
      },
      gy, x, target);
}

// ---- binary cross entropy

TANDEM_OPS Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight,
                                                   const Tensor& pos_weight, LossReduction reduction) {
  const Op<"binary_cross_entropy_with_logits"> op;
  detail::check_binary_loss(x, target);
  detail::check_loss_weight("weight", weight, x);
  detail::check_loss_weight("pos_weight", pos_weight, x);
  return detail::in_f64_unless_finite(x.dtype(), [&](DType dtype) {
    const Tensor losses = op.apply(
        [](const Tensor& x, const Tensor& target, const Tensor& pos_weight) {
          const DType t = result_type(x, target);
          Tensor y;
          if (pos_weight.defined()) {
            // (1 - t) log(1 + e^x) + pos_weight t log(1 + e^-x), where 0 times inf is 0
            const auto term = [](const Tensor& factor, const Tensor& x) {
              return where(eq(factor, 0), mul(factor, sigmoid(x)), mul(factor, softplus(x)));
            };
            y = to(add(term(rsub(target, 1), x), term(mul(pos_weight, target), neg(x))), t);
          } else {
            y = empty_like(x, t);
            backend(x).binary(y, kernels::Binary::bce_with_logits, x, target, 1);
          }
          return Result{y, save(x, target, pos_weight), [](const Backward& b) -> Grads {
                          const Tensor &gy = b.grad(), x = b.saved(0), target = b.saved(1), pos_weight = b.saved(2);
                          Grads grads(3);
                          if (!pos_weight.defined()) {
                            if (b.needs(0)) grads[0] = mul(sub(sigmoid(x), target), gy);
                            if (b.needs(1)) grads[1] = neg(mul(x, gy));
                            return grads;
                          }
                          if (b.needs(0)) {
                            const Tensor scale = add(mul(sub(pos_weight, 1), target), 1);
                            grads[0] = mul(sub(rsub(target, 1), mul(scale, sigmoid(neg(x)))), gy);
                          }
                          if (b.needs(1) || b.needs(2)) {
                            const Tensor tail = softplus(neg(x));
                            if (b.needs(1)) grads[1] = mul(sub(mul(pos_weight, tail), softplus(x)), gy);
                            if (b.needs(2)) grads[2] = sum_to_size(mul(mul(target, tail), gy), pos_weight.sizes());
                          }
                          return grads;
                        }};
        },
        to(x, dtype), target, pos_weight);
    return detail::weigh_and_reduce(losses, weight, reduction);
  });
}

namespace detail {

/// gy (p - t) / max(p (1 - p), 1e-12)
inline Tensor binary_cross_entropy_slope(const Tensor& gy, const Tensor& p, const Tensor& t) {
  if (GradMode::is_enabled()) {
    const Tensor wide = to(p, checks::sum_dtype(p.dtype()));  // 1e-12 is 0 in f16
    return to(mul(div(sub(wide, t), clamp(mul(wide, rsub(wide, 1)), 1e-12)), gy), p.dtype());
  }
  return Op<"binary_cross_entropy_backward">().apply(
      [](const Tensor& gy, const Tensor& p, const Tensor& t) {
        Tensor gx = empty_like(p);
        backend(p).binary(gx, kernels::Binary::binary_cross_entropy_backward, p, t, 1);
        backend(p).binary(gx, kernels::Binary::mul, gx, gy, 1);
        return Result{gx};
      },
      gy, p, t);
}

}  // namespace detail

TANDEM_OPS Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                                       LossReduction reduction) {
  const Op<"binary_cross_entropy"> op;
  detail::check_binary_loss(x, target);
  detail::check_loss_weight("weight", weight, x);
  const Tensor losses = op.apply(
      [](const Tensor& x, const Tensor& target) {
        detail::check_range("x", x, 0, 1, "; use binary_cross_entropy_with_logits for logits");
        detail::check_range("target", target, 0, 1);
        Tensor y = empty_like(x, result_type(x, target));
        backend(x).binary(y, kernels::Binary::binary_cross_entropy, x, target, 1);
        return Result{y, save(x, target), [](const Backward& b) -> Grads {
                        const Tensor &gy = b.grad(), p = b.saved(0), t = b.saved(1);
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = detail::binary_cross_entropy_slope(gy, p, t);
                        if (b.needs(1)) {
                          grads[1] = mul(sub(clamp(log(rsub(p, 1)), -100), clamp(log(p), -100)), gy);
                        }
                        return grads;
                      }};
      },
      x, target);
  return detail::weigh_and_reduce(losses, weight, reduction);
}

}  // namespace tandem
