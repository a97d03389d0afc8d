#pragma once
// MultiTensorOptimizer: base of the optimizers that update all parameters by one rule.
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

struct OptimizerKind;  // src/optim/optimizer_kind.h

/// Base of RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, Lion and LAMB. A step is one backend call per group,
/// device and dtype, computed in f32 (f64 for f64 parameters) and rounded once. State tensors have the dtype of the
/// computation. Step counts are f32 tensors of one element on the parameter's device, do not count skipped steps, and
/// do not depend on the parameter's dtype.
///
/// Constructors and steps throw StateError for options outside their domains: learning rates, eps, decays and momenta
/// must be finite and at least 0, betas must be in [0, 1).
class MultiTensorOptimizer : public Optimizer {
 public:
  using Optimizer::step;
  void step(const FusedUnscale& scaling) override;
  bool supports_amp_scaling() const override { return true; }
  bool supports_master_weights() const override { return true; }

 protected:
  using Optimizer::Optimizer;
  /// What distinguishes the optimizer from the others.
  virtual const OptimizerKind& kind() const = 0;
  bool overrides_step() const override;
  void check_options(const OptimizerOptions& options) const override;
  std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
