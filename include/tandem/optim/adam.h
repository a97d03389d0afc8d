#pragma once
// Adam. Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014); torch.optim.Adam.
#include <tuple>

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// `AdamOptions(1e-3).betas({0.9, 0.98})`
class AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
 public:
  using Betas = std::tuple<double, double>;
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// Added to the gradient (L2); AdamW shrinks the parameter instead.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Divides by the largest second moment so far.
  TANDEM_ARG(bool, amsgrad) = false;
  /// Climbs instead of descending.
  TANDEM_ARG(bool, maximize) = false;
};

/// What Adam keeps: f32 tensors, f64 for f64 parameters.
class AdamParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  /// f32 of one element on the parameter's device: steps taken, skipped ones not counted.
  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  /// Undefined without amsgrad.
  TANDEM_ARG(Tensor, max_exp_avg_sq);
};

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr m' / (sqrt(v') + eps), m' and v' corrected for their
/// start at 0; computed in f32 (f64 for f64) and rounded once.
class Adam : public Optimizer {
 public:
  /// Throws StateError: lr, eps or weight_decay negative or not finite, a beta outside [0, 1).
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {});
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
