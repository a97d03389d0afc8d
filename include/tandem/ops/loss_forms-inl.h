#pragma once
// The forms of losses: losses of single elements of two operands, which one kernel computes, and losses that are
// composed of other ops but have a policy of their own.
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/loss.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// The mean or the sum of losses, or the losses themselves. Has their dtype.
inline Tensor reduce_losses(const Tensor& losses, LossReduction reduction) {
  checks::reduction(reduction);
  if (reduction == LossReduction::None) return losses;
  return reduction == LossReduction::Mean ? mean(losses) : sum(losses, losses.dtype());
}

/// A loss of single elements, l(x, target; alpha) + constant(target).
struct PairLoss {
  Binary loss;
  std::optional<Binary> slope;  ///< dl/dx, if a formula computes it in one pass
  double alpha = 1;
  Tensor (*constant)(const Tensor& target) = nullptr;  ///< a term that does not depend on x
  bool is_f64_on_devices = true;  ///< losses that are to be summed are; not for formulas that f64 would make slow
};

/// g dl/dx of a PairLoss, in one pass over x and target and one over the result. g: of the result's sizes, or one
/// number.
inline Tensor pair_loss_slope(const PairLoss& loss, const Tensor& g, const Tensor& x, const Tensor& target,
                              DType dtype) {
  return Op<"pair_loss_backward">().apply(
      [&](const Tensor& g, const Tensor& x, const Tensor& target) {
        const Tensor slope = binary_kernel(*loss.slope, x, target, g.dtype(), loss.alpha);
        const Tensor gx = slope.dtype() == dtype ? slope : empty_like(slope, dtype);
        backend(gx).binary(gx, Binary::mul, slope, broadcast_view(g, slope.sizes()), 1);
        return Result{gx};
      },
      g, x, target);
}

/// Computes and reduces a PairLoss of operands that broadcast. slope(x, target, i) returns dl/d(operand i), in ops;
/// undefined if it is 0.
template <FixedString Name, class Slope>
Tensor pair_loss(const Op<Name>& op, const PairLoss& loss, const Tensor& x, const Tensor& target,
                 LossReduction reduction, Slope slope) {
  checks::reduction(reduction);
  return op.apply(
      [&](const Tensor& x, const Tensor& target) {
        const DType t = result_type(x, target);
        double n = 1;
        const auto compute = [&](DType dtype) {
          Tensor y = binary_kernel(loss.loss, x, target, dtype, loss.alpha);
          if (reduction == LossReduction::Mean) n = static_cast<double>(y.numel());
          if (loss.constant) y = add(y, loss.constant(to(target, dtype)));
          return reduce_losses(y, reduction);
        };
        // Losses that are still to be summed are kept in f32 or f64.
        const bool sums = reduction != LossReduction::None || loss.constant;
        const DType wide = sums && !x.is_cpu() && loss.is_f64_on_devices ? kDouble : checks::sum_dtype(t);
        const Tensor y = to(sums ? in_f64_unless_finite(wide, compute) : compute(t), t);
        return Result{y, save(x, target), [loss, n, slope](const Backward& b) -> Grads {
                        const Tensor x = b.saved(0), target = b.saved(1);
                        Tensor g = to(b.grad(), checks::sum_dtype(result_type(x, target)));
                        if (n != 1) g = div(g, n);
                        const Dims sizes = broadcast_shapes(x.sizes(), target.sizes());
                        Grads grads(2);
                        for (size_t i = 0; i < 2; ++i) {
                          if (!b.needs(i)) continue;
                          const Dims& own = (i == 0 ? x : target).impl().sizes;
                          if (i == 0 && loss.slope && !GradMode::is_enabled()) {
                            const DType dtype = own == sizes ? b.wanted(0) : g.dtype();
                            grads[i] = reduce_to(pair_loss_slope(loss, g, x, target, dtype), own);
                          } else if (const Tensor s = slope(x, target, i); s.defined()) {
                            grads[i] = reduce_to(mul(s.sizes() == IntArrayRef(sizes) ? s : expand(s, sizes), g), own);
                          }
                        }
                        return grads;
                      }};
      },
      x, target);
}

/// Returns the inputs cast by the op's policy, as a recorded op: the first step of an op that is composed of others.
/// Undefined tensors stay undefined.
template <FixedString Name>
std::vector<Tensor> cast_inputs(const Op<Name>& op, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> defined;
  for (const Tensor& x : inputs) {
    if (x.defined()) defined.push_back(x);
  }
  std::vector<Tensor> cast = op.apply_n(
      [](TensorList list) {
        const size_t n = list.size();
        return Result{std::vector<Tensor>(list.begin(), list.end()), {}, [n](const Backward& b) -> Grads {
                        Grads grads(n);
                        for (size_t i = 0; i < n; ++i) {
                          if (b.needs(i)) grads[i] = b.grad(i);
                        }
                        return grads;
                      }};
      },
      TensorList(defined));
  std::vector<Tensor> result;
  size_t next = 0;
  for (const Tensor& x : inputs) result.push_back(x.defined() ? std::move(cast[next++]) : Tensor());
  return result;
}

}  // namespace tandem::detail
