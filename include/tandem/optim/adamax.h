#pragma once
// Adamax: Adam with the infinity norm. Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014),
// section 7; torch.optim.Adamax.
#include <tuple>

#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of Adamax: `AdamaxOptions(1e-3).betas({0.9, 0.98})`
class AdamaxOptions : public OptimizerCloneableOptions<AdamaxOptions> {
 public:
  using Betas = std::tuple<double, double>;
  AdamaxOptions(double lr = 2e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// Adamax's state of one parameter.
class AdamaxParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  /// The decaying maximum of |g|.
  TANDEM_ARG(Tensor, exp_inf);
};

/// g = g + weight_decay p; m = b1 m + (1 - b1) g; u = max(b2 u, |g| + eps); p = p - lr / (1 - b1^t) m / u.
class Adamax : public MultiTensorOptimizer {
 public:
  explicit Adamax(const std::vector<OptimizerParamGroup>& param_groups, AdamaxOptions defaults = {});
  explicit Adamax(std::vector<Tensor> params, AdamaxOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
