#pragma once
// Adam. Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014); torch.optim.Adam.
#include <tuple>

#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of Adam: `AdamOptions(1e-3).betas({0.9, 0.98})`
class AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
 public:
  using Betas = std::tuple<double, double>;
  AdamOptions(double lr = 1e-3);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);
  TANDEM_ARG(double, eps) = 1e-8;
  /// L2 penalty: weight_decay p is added to the gradient. AdamW shrinks the parameter instead.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Divides by the maximum of all second moments so far (AMSGrad).
  TANDEM_ARG(bool, amsgrad) = false;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
  /// The dtypes in which moments are kept: kFloat or kBFloat16, for the first moment also kFloat8_e4m3fn. f64
  /// parameters keep f64. Those in fewer bits than f32 are rounded stochastically (math/optim_state.h). The options are
  /// not saved: loading converts a state to these dtypes, and after a change of the options the next step does. Both
  /// round to nearest.
  TANDEM_ARG(DType, exp_avg_dtype) = kFloat;
  TANDEM_ARG(DType, exp_avg_sq_dtype) = kFloat;
};

/// Adam's state of one parameter. The moments have the dtypes of the options.
class AdamParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  /// Number of steps taken, not counting skipped ones: an f32 tensor of one element on the parameter's device, whatever
  /// the parameter's dtype.
  TANDEM_ARG(Tensor, step);
  TANDEM_ARG(Tensor, exp_avg);
  /// The inverse scales of exp_avg in e4m3fn, f32: one for each block of math::kStateBlock elements in row-major order.
  /// Undefined for other dtypes.
  TANDEM_ARG(Tensor, exp_avg_scale);
  TANDEM_ARG(Tensor, exp_avg_sq);
  /// Undefined without amsgrad.
  TANDEM_ARG(Tensor, max_exp_avg_sq);
};

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr m' / (sqrt(v') + eps), where m' and v' are m and v
/// corrected for their initialization at 0. Computed in f32 (f64 for f64 parameters) and rounded once; moments in fewer
/// bits are rounded stochastically.
class Adam : public Optimizer {
 public:
  /// Throws StateError if lr, eps or weight_decay is negative or not finite, a beta is outside [0, 1), or
  /// exp_avg_dtype or exp_avg_sq_dtype is none of those listed in the options.
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {});
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
