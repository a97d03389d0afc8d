#pragma once
// NAdam: Adam with Nesterov momentum. Source: Dozat, "Incorporating Nesterov Momentum into Adam" (2016);
// torch.optim.NAdam.
#include <tuple>

#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of NAdam: `NAdamOptions(1e-3).betas({0.9, 0.98})`
class NAdamOptions : public OptimizerCloneableOptions<NAdamOptions> {
 public:
  using Betas = std::tuple<double, double>;
  NAdamOptions(double lr = 2e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty, unless decoupled_weight_decay: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum_decay) = 4e-3;
  /// Multiplies the parameter by (1 - lr weight_decay) instead, as AdamW does.
  TANDEM_ARG(bool, decoupled_weight_decay) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// NAdam's state of one parameter.
class NAdamParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  /// The product of the momenta of all steps: like step, an f32 tensor of one element.
  TANDEM_ARG(Tensor, mu_product);
};

/// mu_t = b1 (1 - 0.96^(t momentum_decay) / 2); M = M mu_t; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr
/// ((1 - mu_t) / (1 - M) g + mu_(t+1) / (1 - M mu_(t+1)) m) / (sqrt(v / (1 - b2^t)) + eps).
class NAdam : public MultiTensorOptimizer {
 public:
  explicit NAdam(const std::vector<OptimizerParamGroup>& param_groups, NAdamOptions defaults = {});
  explicit NAdam(std::vector<Tensor> params, NAdamOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
