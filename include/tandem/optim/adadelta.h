#pragma once
// Adadelta. Source: Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012); torch.optim.Adadelta.
#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of Adadelta: `AdadeltaOptions(0.5).rho(0.95)`
class AdadeltaOptions : public OptimizerCloneableOptions<AdadeltaOptions> {
 public:
  AdadeltaOptions(double lr = 1.0);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  /// Decay of the running averages, in [0, 1].
  TANDEM_ARG(double, rho) = 0.9;
  TANDEM_ARG(double, eps) = 1e-6;
  /// L2 penalty: weight_decay p is added to the gradient.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// Adadelta's state of one parameter.
class AdadeltaParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, square_avg);
  /// Average of the squared updates.
  TANDEM_ARG(Tensor, acc_delta);
};

/// g = g + weight_decay p; v = rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) g; u = rho u + (1 - rho) d^2;
/// p = p - lr d.
class Adadelta : public MultiTensorOptimizer {
 public:
  explicit Adadelta(const std::vector<OptimizerParamGroup>& param_groups, AdadeltaOptions defaults = {});
  explicit Adadelta(std::vector<Tensor> params, AdadeltaOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
