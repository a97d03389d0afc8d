#pragma once
// RMSprop. Source: Hinton, "Lecture 6e" (2012); torch.optim.RMSprop.
#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of RMSprop: `RMSpropOptions(1e-3).momentum(0.9)`
class RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
 public:
  RMSpropOptions(double lr = 1e-2);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  /// Decay of the running averages.
  TANDEM_ARG(double, alpha) = 0.99;
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(double, momentum) = 0;
  /// Divides by the standard deviation of the gradient instead of the root of its mean square. Source: Graves,
  /// "Generating Sequences With Recurrent Neural Networks" (2013).
  TANDEM_ARG(bool, centered) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// RMSprop's state of one parameter.
class RMSpropParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, square_avg);
  /// Undefined without momentum.
  TANDEM_ARG(Tensor, momentum_buffer);
  /// Undefined unless centered.
  TANDEM_ARG(Tensor, grad_avg);
};

/// g = g + weight_decay p; v = alpha v + (1 - alpha) g^2; if centered, a = alpha a + (1 - alpha) g; r = g / (sqrt(v -
/// a^2) + eps), with a = 0 unless centered; p = p - lr r, or with momentum b = momentum b + r; p = p - lr b. v - a^2 is
/// at least 0 here; in PyTorch rounding can make it negative, and the parameter NaN.
class RMSprop : public MultiTensorOptimizer {
 public:
  explicit RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults = {});
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
