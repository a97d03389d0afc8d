#pragma once
// Adagrad. Source: Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011);
// torch.optim.Adagrad.
#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of Adagrad: `AdagradOptions(0.1).lr_decay(1e-3)`
class AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
 public:
  AdagradOptions(double lr = 1e-2);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  /// The learning rate of step t is lr / (1 + (t - 1) lr_decay).
  TANDEM_ARG(double, lr_decay) = 0;
  /// L2 penalty: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  /// The sum before the first step.
  TANDEM_ARG(double, initial_accumulator_value) = 0;
  TANDEM_ARG(double, eps) = 1e-10;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// Adagrad's state of one parameter.
class AdagradParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  /// The sum of g^2.
  TANDEM_ARG(Tensor, sum);
};

/// g = g + weight_decay p; s = s + g^2; p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). A parameter's state is
/// created at its first step, not by the constructor as in PyTorch, with the initial value of its own group.
class Adagrad : public MultiTensorOptimizer {
 public:
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
