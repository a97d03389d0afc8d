#pragma once
// AdamW: Adam with decoupled weight decay. Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization"
// (2017); torch.optim.AdamW.
#include "tandem/optim/adam.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of AdamW: `AdamWOptions(1e-3).weight_decay(0.05)`
class AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
 public:
  using Betas = std::tuple<double, double>;
  AdamWOptions(double lr = 1e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// The parameter is multiplied by (1 - lr weight_decay) before the step.
  TANDEM_ARG(double, weight_decay) = 1e-2;
  /// Divides by the maximum of all second moments so far (AMSGrad).
  TANDEM_ARG(bool, amsgrad) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
  /// See AdamOptions.
  TANDEM_ARG(DType, exp_avg_dtype) = kFloat;
  TANDEM_ARG(DType, exp_avg_sq_dtype) = kFloat;
};

/// AdamW's state of one parameter: the same as Adam's.
class AdamWParamState : public AdamParamState {};

/// Adam with weight decay applied to the parameter directly instead of through the gradient.
class AdamW : public Optimizer {
 public:
  /// Throws StateError if lr, eps or weight_decay is negative or not finite, a beta is outside [0, 1), or
  /// exp_avg_dtype or exp_avg_sq_dtype is none of those listed in the options.
  explicit AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults = {});
  explicit AdamW(std::vector<Tensor> params, AdamWOptions defaults = {});
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
