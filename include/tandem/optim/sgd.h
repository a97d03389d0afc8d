#pragma once
// SGD with momentum, dampening, Nesterov's variant and weight decay. Source: torch.optim.SGD.
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of SGD: `SGDOptions(0.1).momentum(0.9).weight_decay(1e-4)`
class SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions(double lr);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, momentum) = 0;
  /// The gradient is multiplied by (1 - dampening) when it is added to the momentum buffer.
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  /// Nesterov momentum. Requires momentum above 0 and dampening 0.
  TANDEM_ARG(bool, nesterov) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// The state of one parameter under SGD with momentum: f32 tensors, f64 for f64 parameters.
class SGDParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, momentum_buffer);
  /// Number of steps taken, not counting skipped ones: an f32 tensor of one element on the parameter's device, whatever
  /// the parameter's dtype.
  TANDEM_ARG(Tensor, step);
};

/// g = g + weight_decay p; b = g at the first step, momentum b + (1 - dampening) g after that; p = p - lr (nesterov ? g
/// + momentum b : b), computed in f32 (f64 for f64 parameters) and rounded once.
class SGD : public Optimizer {
 public:
  /// Throws StateError if lr, momentum or weight_decay is negative or not finite, if dampening is not finite, or for
  /// nesterov without momentum or with dampening.
  explicit SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults);
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults);
  using Optimizer::step;
  void step(const FusedUnscale& scaling) override;
  bool supports_amp_scaling() const override { return true; }
  bool supports_master_weights() const override { return true; }

 protected:
  bool overrides_step() const override;
  void check_options(const OptimizerOptions& options) const override;
  std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
