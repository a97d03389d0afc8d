#pragma once
// LAMB: Adam with a learning rate for each parameter tensor. Source: You et al., "Large Batch Optimization for Deep
// Learning: Training BERT in 76 minutes" (2020), algorithm 2.
#include <tuple>

#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of LAMB: `LAMBOptions(2e-3).weight_decay(0.05)`
class LAMBOptions : public OptimizerCloneableOptions<LAMBOptions> {
 public:
  using Betas = std::tuple<double, double>;
  LAMBOptions(double lr = 1e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-6;
  /// weight_decay p is added to the update, before its norm is taken.
  TANDEM_ARG(double, weight_decay) = 0.01;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// LAMB's state of one parameter.
class LAMBParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
};

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay p;
/// p = p - lr |p| / |u| u. The trust ratio |p| / |u|, of L2 norms over the parameter tensor, is 1 if one of them is 0.
/// The norms are sums in f64 on the device, with master weights those of the masters.
///
/// As in the paper, the ratio is neither limited nor skipped for parameters without weight decay, and gradients are not
/// clipped: apex::optimizers::FusedLAMB by default clips their global norm to 1 first (nn::utils::clip_grad_norm_) and
/// uses a ratio of 1 where weight_decay is 0.
class LAMB : public MultiTensorOptimizer {
 public:
  explicit LAMB(const std::vector<OptimizerParamGroup>& param_groups, LAMBOptions defaults = {});
  explicit LAMB(std::vector<Tensor> params, LAMBOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
