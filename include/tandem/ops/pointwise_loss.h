#pragma once
// Losses that are sums or means over single elements. The result has the dtype to which the operands promote; under
// autocast it is f32. Sums are held in f32 (f64 for f64).
#include "tandem/ops/loss.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// |x - target|, reduced. Unequal sizes broadcast, with a warning. Source: torch.nn.functional.l1_loss.
Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean);

/// d^2 / (2 beta) where d = |x - target| < beta, else d - beta / 2; reduced. beta = 0 gives l1_loss. Unequal sizes
/// broadcast, with a warning. Throws StateError unless beta is at least 0. Source: torch.nn.functional.smooth_l1_loss.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean,
                      double beta = 1);

/// d^2 / 2 where d = |x - target| <= delta, else delta (d - delta / 2); reduced. Unequal sizes broadcast, with a
/// warning. Throws StateError unless delta is positive. Source: torch.nn.functional.huber_loss.
Tensor huber_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean,
                  double delta = 1);

/// Kullback-Leibler divergence: target (log target - x), where 0 log 0 = 0; with `log_target` exp(target) (target - x).
/// x: log-probabilities. Mean divides by the number of elements, not of samples. Broadcasts.
/// Source: torch.nn.functional.kl_div.
Tensor kl_div(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean,
              bool log_target = false);

/// Negative log likelihood of a Poisson distribution: exp(x) - target x if x is the logarithm of the rate, else
/// x - target log(x + eps). `full` adds Stirling's term where target > 1:
/// target log(target) - target + log(2 pi target) / 2. Broadcasts. Source: torch.nn.functional.poisson_nll_loss.
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input = true, bool full = false,
                        double eps = 1e-8, LossReduction reduction = LossReduction::Mean);

/// Negative log likelihood of a normal distribution: (log v + (x - target)^2 / v) / 2 with v = max(var, eps), of which
/// the gradient of var ignores the bound. `full` adds log(2 pi) / 2. var has x's sizes, x's sizes with one of them 1,
/// or x's sizes without the last. Throws ShapeError for another var, and on the CPU StateError for a negative one.
/// Source: torch.nn.functional.gaussian_nll_loss.
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full = false, double eps = 1e-6,
                         LossReduction reduction = LossReduction::Mean);

/// x where target is 1, max(0, margin - x) where it is -1, else the sum of both; reduced. x: distances. Broadcasts.
/// Source: torch.nn.functional.hinge_embedding_loss.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            LossReduction reduction = LossReduction::Mean);

/// log(1 + exp(-target x)), reduced; target: 1 or -1. Does not overflow, unlike PyTorch's. Broadcasts.
/// Source: torch.nn.functional.soft_margin_loss.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean);

/// binary_cross_entropy_with_logits, averaged over the last dimension and then reduced. x and target, in [0, 1]: equal
/// sizes, usually [N, C]. weight: broadcasts to x. Source: torch.nn.functional.multilabel_soft_margin_loss.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                   LossReduction reduction = LossReduction::Mean);

}  // namespace tandem
#pragma GCC visibility pop
