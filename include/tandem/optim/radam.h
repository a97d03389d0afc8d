#pragma once
// RAdam: Adam with a rectified variance. Source: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond"
// (2019); torch.optim.RAdam.
#include <tuple>

#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of RAdam: `RAdamOptions(1e-3).betas({0.9, 0.98})`
class RAdamOptions : public OptimizerCloneableOptions<RAdamOptions> {
 public:
  using Betas = std::tuple<double, double>;
  RAdamOptions(double lr = 1e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, unless decoupled_weight_decay: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Multiplies the parameter by (1 - lr weight_decay) instead, as AdamW does.
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// RAdam's state of one parameter.
class RAdamParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
};

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr m / (1 - b1^t) r sqrt(1 - b2^t) / (sqrt(v) + eps), where
/// r rectifies the variance; in the first steps, in which that is unbounded, p = p - lr m / (1 - b1^t).
class RAdam : public MultiTensorOptimizer {
 public:
  explicit RAdam(const std::vector<OptimizerParamGroup>& param_groups, RAdamOptions defaults = {});
  explicit RAdam(std::vector<Tensor> params, RAdamOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
