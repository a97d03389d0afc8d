#pragma once
// Lion. Source: Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023).
#include <tuple>

#include "tandem/optim/multi_tensor_optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of Lion: `LionOptions(1e-4).weight_decay(0.1)`
class LionOptions : public OptimizerCloneableOptions<LionOptions> {
 public:
  using Betas = std::tuple<double, double>;
  LionOptions(double lr = 1e-4);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.99);
  /// The parameter is multiplied by (1 - lr weight_decay) before the step.
  TANDEM_ARG(double, weight_decay) = 0;
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// Lion's state of one parameter.
class LionParamState : public OptimizerParamState {
 public:
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(Tensor, exp_avg);
};

/// p = p (1 - lr weight_decay) - lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g. The sign of NaN is NaN. Common
/// values are a learning rate 3 to 10 times smaller than AdamW's, and a weight decay as many times larger.
class Lion : public MultiTensorOptimizer {
 public:
  explicit Lion(const std::vector<OptimizerParamGroup>& param_groups, LionOptions defaults = {});
  explicit Lion(std::vector<Tensor> params, LionOptions defaults = {});

 protected:
  const OptimizerKind& kind() const override;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
