#pragma once
// L-BFGS: a quasi-Newton method that evaluates the loss several times per step. Source: Nocedal and Wright, "Numerical
// Optimization" (2006), algorithms 7.4 and 3.5; torch.optim.LBFGS.
#include <optional>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Options of LBFGS: `LBFGSOptions(1).line_search_fn("strong_wolfe")`
class LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
 public:
  LBFGSOptions(double lr = 1);
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  /// "line_search_fn" is saved as a bool: whether it is "strong_wolfe".
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(double, lr);
  /// Iterations per step.
  TANDEM_ARG(int64_t, max_iter) = 20;
  /// Evaluations of the closure per step, after which no further iteration begins. 5/4 max_iter if empty.
  TANDEM_ARG(std::optional<int64_t>, max_eval);
  /// A step ends when no element of the gradient is larger.
  TANDEM_ARG(double, tolerance_grad) = 1e-7;
  /// A step ends when no element of the update is larger, when the loss changes by less, or when the loss falls along
  /// the direction by less per unit of length.
  TANDEM_ARG(double, tolerance_change) = 1e-9;
  /// The updates that the approximation of the Hessian is made of. Each takes the memory of two gradients.
  TANDEM_ARG(int64_t, history_size) = 100;
  /// "strong_wolfe", or empty: the length of each update is lr.
  TANDEM_ARG(std::optional<std::string>, line_search_fn);
  /// Maximizes the objective instead of minimizing it.
  TANDEM_ARG(bool, maximize) = false;
};

/// The state of LBFGS, kept for the first parameter. Vectors have the elements of all parameters, in f32 (f64 if all
/// parameters are f64).
class LBFGSParamState : public OptimizerParamState {
 public:
  LBFGSParamState() = default;
  /// `like`: a vector with the form of those of the state.
  explicit LBFGSParamState(Tensor like) : like_(std::move(like)) {}
  void visit_fields(StateVisitor& visitor) override;

  TANDEM_ARG(int64_t, func_evals) = 0;
  TANDEM_ARG(int64_t, n_iter) = 0;
  /// The length of the last update.
  TANDEM_ARG(double, t) = 0;
  TANDEM_ARG(double, prev_loss) = 0;
  /// The last direction.
  TANDEM_ARG(Tensor, d);
  /// The scale of the initial Hessian, of rank 0.
  TANDEM_ARG(Tensor, H_diag);
  TANDEM_ARG(Tensor, prev_flat_grad);
  /// The differences of gradients and of parameters, and the reciprocals of their products, from oldest to latest.
  TANDEM_ARG(std::vector<Tensor>, old_dirs);
  TANDEM_ARG(std::vector<Tensor>, old_stps);
  TANDEM_ARG(std::vector<Tensor>, ro);

 private:
  Tensor like_;
};

/// L-BFGS over all parameters as one vector. The host waits for the device several times per iteration. Supports
/// neither loss scaling, since it compares losses and gradients of several evaluations, nor master weights: train in
/// f32 or f64, or with bf16 autocast in the closure.
///
///   optim::LBFGS lbfgs(net->parameters(), optim::LBFGSOptions().line_search_fn("strong_wolfe"));
///   lbfgs.step([&] { lbfgs.zero_grad(); Tensor loss = loss_of(net); loss.backward(); return loss; });
class LBFGS : public Optimizer {
 public:
  /// Throws StateError for options outside their domains, and for more than one group.
  explicit LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {});

  using Optimizer::step;
  /// Runs up to max_iter iterations and returns the loss of the closure's first evaluation. The closure clears the
  /// gradients, computes the loss and calls backward(). Throws StateError without a closure, DeviceError for parameters
  /// on several devices, DTypeError for f16 and bf16 parameters.
  Tensor step(LossClosure closure) override;
  bool needs_closure() const override { return true; }

 protected:
  void check_options(const OptimizerOptions& options) const override;
  std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const override;

 private:
  class Step;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
