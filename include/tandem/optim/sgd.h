#pragma once
// SGD with momentum, dampening, Nesterov's variant and weight decay. Source: torch.optim.SGD.
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// `SGDOptions(0.1).momentum(0.9).weight_decay(1e-4)`
class SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions(double lr) : lr_(lr) {}
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(double, momentum) = 0;
  /// Share of the gradient that the momentum buffer does not take up.
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  /// Needs momentum, and dampening 0.
  TANDEM_ARG(bool, nesterov) = false;
  /// Climbs instead of descending.
  TANDEM_ARG(bool, maximize) = false;
};

/// What SGD with momentum keeps: f32 tensors, f64 for f64 parameters.
class SGDParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, momentum_buffer);
  /// f32 of one element on the parameter's device: steps taken, skipped ones not counted.
  TANDEM_ARG(Tensor, step);
};

/// g = g + weight_decay p; b = g at the first step, then momentum b + (1 - dampening) g;
/// p = p - lr (nesterov ? g + momentum b : b), computed in f32 (f64 for f64) and rounded once.
class SGD : public Optimizer {
 public:
  /// Throws StateError: lr, momentum or weight_decay negative or not finite, nesterov without momentum or with
  /// dampening.
  explicit SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults);
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults);
  using Optimizer::step;
  void step(const StepScaling& scaling) override;
  bool supports_amp_scaling() const override { return true; }
  bool supports_master_weights() const override { return true; }

 protected:
  bool overrides_step() const override;
  void check_options(const OptimizerOptions& options) const override;
  std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const override;
};

}  // namespace tandem::optim
