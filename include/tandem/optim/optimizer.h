#pragma once
// Optimizer: parameter groups, per-parameter state, closures, and the door through which a GradScaler steps.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/backend.h"
#include "tandem/base/arg.h"
#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem::optim {

/// The hyper-parameters of one parameter group.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// The learning rate; what a schedule reads and sets. Throws StateError where the options have none.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  /// Names every option for saving and loading. Throws NotImplementedError unless overridden.
  virtual void visit_fields(StateVisitor& visitor);
};

/// Supplies clone().
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// What an optimizer keeps for one parameter.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  /// Names every field for saving and loading. Throws NotImplementedError unless overridden.
  virtual void visit_fields(StateVisitor& visitor);
};

/// Parameters that share their options. Without options of its own a group gets the optimizer's defaults.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params);
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options);
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup& other);
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;
  ~OptimizerParamGroup() = default;

  bool has_options() const { return options_ != nullptr; }
  /// Throws StateError when the group has none.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  /// The learning rate that schedulers start from; the first scheduler of the group sets it to the rate it finds.
  std::optional<double>& initial_lr() { return initial_lr_; }
  const std::optional<double>& initial_lr() const { return initial_lr_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

/// Base of all optimizers. Those of tandem make one backend call per group, device and dtype, and read nothing back:
/// step counts, scale and found-inf stay on the device.
///
/// A user's own optimizer overrides step(closure), and works under a GradScaler too: the scaler then unscales first and
/// waits for one flag before it calls step(). Overriding step(scaling) and supports_amp_scaling() spares that wait.
class Optimizer {
 public:
  /// Computes the loss anew and returns it; called with gradients being recorded.
  using LossClosure = std::function<Tensor()>;

  /// Throws as add_param_group does.
  Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// A number that no other optimizer of this process has or will have.
  uint64_t id() const { return id_; }

  /// Adds parameters, with the defaults where the group has no options. Each must be a floating leaf that no group of
  /// this optimizer has yet, without elements that share memory: StateError, DTypeError, AutogradError or ShapeError
  /// otherwise.
  void add_param_group(const OptimizerParamGroup& group);

  /// One update of every parameter that has a gradient. Returns the closure's loss, undefined without a closure.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  /// The same under a GradScaler, with gradients multiplied by `scaling.inverse_scale` as they are read. Where
  /// `scaling.found_inf` is not 0 nothing is written: no parameter, no state, no step count. `.grad` stays as it is.
  /// Throws NotImplementedError where supports_amp_scaling() is false.
  virtual void step(const StepScaling& scaling);
  /// Whether step(scaling) works.
  virtual bool supports_amp_scaling() const { return false; }

  /// Drops the gradients of all parameters, or fills them with zeros.
  void zero_grad(bool set_to_none = true);

  OptimizerOptions& defaults() { return *defaults_; }
  const OptimizerOptions& defaults() const { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return param_groups_; }
  /// The parameters of all groups, in order.
  std::vector<Tensor> parameters() const;
  /// The number of parameters of all groups.
  size_t size() const;

  /// State by parameter: `optimizer.state()[&parameter.impl()]`. Empty before a parameter's first step.
  using State = std::unordered_map<TensorImpl*, std::unique_ptr<OptimizerParamState>>;
  State& state() { return state_; }
  const State& state() const { return state_; }

  /// Options and state, by the numbers of groups and parameters: "param_groups.0.lr", "param_groups.0.params" (the
  /// numbers of its parameters, i64), "state.0.exp_avg", ...: torch.optim's dictionary, flattened. A parameter before
  /// its first step has no state. The tensors share memory with the optimizer.
  StateDict state_dict() const;
  /// Takes over options and state. The parameters are matched by number; state goes to the device of its parameter.
  /// Throws StateError, and changes nothing, for a state that does not fit (all misfits are listed) or options out of
  /// their domains.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// The checks of load_state_dict; what it returns does the rest. The optimizer must not change in between.
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  /// Throws StateError when an option has no sensible value. Called for every group that is added.
  virtual void check_options(const OptimizerOptions& options) const;
  /// The state of `param` at its first step, for load_state_dict to fill: every tensor in the form it must have. Throws
  /// NotImplementedError unless overridden.
  virtual std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const;
  /// Checks the options of all groups: for constructors, in which the base cannot call check_options().
  void check_all_options() const;
  /// The closure's loss, computed with gradients being recorded; undefined without a closure.
  static Tensor evaluate(const LossClosure& closure);
  /// The state of `param`, made by `make` at its first step.
  template <class ParamState, class Make>
  ParamState& state_of(const Tensor& param, Make&& make) {
    const auto found = state_.find(&param.impl());
    if (found != state_.end() && found->second) return static_cast<ParamState&>(*found->second);
    auto made = std::make_unique<ParamState>(make(param));  // may throw: then there is no entry
    return static_cast<ParamState&>(*(state_[&param.impl()] = std::move(made)));
  }
  /// Where a step that is being recorded into a CUDA graph finds the group's learning rate, which every replay takes
  /// from its options; null outside a capture.
  const double* captured_lr(const OptimizerParamGroup& group) const;

 private:
  static uint64_t next_id();
  /// add_param_group, with `op` in front of the messages.
  void add(const char* op, const OptimizerParamGroup& group);

  uint64_t id_ = next_id();
  std::shared_ptr<const Optimizer*> self_ = std::make_shared<const Optimizer*>(this);  // seen weakly, by graphs
  std::vector<OptimizerParamGroup> param_groups_;
  State state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

}  // namespace tandem::optim
