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

class Optimizer;

/// Takes over the plain step() of an optimizer, in modes in which the program calls no GradScaler itself.
class StepScaler {
 public:
  virtual ~StepScaler() = default;
  /// Steps `optimizer` by its step(const StepScaling&).
  virtual void step(Optimizer& optimizer) = 0;
  /// What a resumed run needs of it, such as the loss scale: a part of its optimizers' state_dict(). None by default.
  virtual StateDict state_dict() { return {}; }
  /// The checks of taking such a state over, which may be another kind's: what has no counterpart here is left. What it
  /// returns does the rest.
  virtual StateCommit prepare_load_state_dict(const StateDict& state);
};

/// What an optimizer keeps behind f16 and bf16 parameters from step to step.
enum class MasterWeights : uint8_t {
  none,      ///< nothing: every step rounds the parameter, and updates below its precision are lost
  f32,       ///< an f32 copy, 4 bytes more an element
  remainder  ///< for bf16 the 16 bits that it lacks, 2 bytes more an element; for f16 an f32 copy
};

/// Base of all optimizers. Those of tandem make one backend call per group, device and dtype, and read nothing back:
/// step counts, scale and found-inf stay on the device.
///
/// A user's own optimizer, derived from Optimizer, overrides one of the two step()s, and brings the other one in by
/// `using Optimizer::step;`:
///
/// - step(scaling), with supports_amp_scaling(): it unscales and skips by itself. A GradScaler waits for nothing, and
///   every mode that scales takes it.
/// - step(closure), which is all that f32 needs. It works under a GradScaler too: the scaler unscales first and waits
///   for one flag before it calls step(). The modes that scale refuse it, or leave it alone where they hold for the
///   whole process.
///
/// If you override both, to call the closure more than once, end step(closure) with plain_step(), which asks the modes.
///
/// A class derived from SGD, Adam or AdamW may override either: a GradScaler unscales, waits for the flag and calls
/// step(), as it does for step(closure) above; where overrides_step() returns false it calls step(scaling).
class Optimizer {
 public:
  /// Computes the loss anew and returns it; called with gradients being recorded.
  using LossClosure = std::function<Tensor()>;

  /// Throws StateError for an empty list of groups or of parameters; otherwise as add_param_group does.
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

  /// One update of every parameter that has a gradient. Returns the closure's loss, undefined without a closure. Unless
  /// overridden, it is step(scaling) without a scaling, or what the step scaler makes of it.
  virtual Tensor step(LossClosure closure = nullptr);
  /// The same under a GradScaler, with gradients multiplied by `scaling.inverse_scale` as they are read. Where
  /// `scaling.found_inf` is not 0 nothing is written: no parameter, no state, no step count. `.grad` stays as it is.
  /// Throws NotImplementedError where supports_amp_scaling() is false.
  virtual void step(const StepScaling& scaling);
  /// Whether step(scaling) works.
  virtual bool supports_amp_scaling() const { return false; }
  /// Whether a GradScaler calls step(scaling), which waits for nothing, rather than unscale the gradients, wait for
  /// found_inf and call step().
  bool steps_fused() const { return supports_amp_scaling() && (inside_scaler_ || !overrides_step()); }
  /// From now on `scaler` does what step() without a scaling does; null: step() is itself again. Throws
  /// NotImplementedError where supports_amp_scaling() is false.
  void set_step_scaler(std::shared_ptr<StepScaler> scaler);
  const std::shared_ptr<StepScaler>& step_scaler() const { return step_scaler_; }
  /// The scaler of optimizers that have none of their own, for the whole process.
  static void set_default_step_scaler(std::shared_ptr<StepScaler> scaler);

  // ---- master weights: 16-bit parameters that are stepped in f32
  /// From the next step on, each f16 and bf16 parameter of every group is its f32 master, rounded: the step updates the
  /// master and writes the parameter in the same pass. A parameter that was changed since the last step (loaded,
  /// written in place) is taken over where it differs from its rounded master. A remainder cannot tell where that is:
  /// all of such a parameter is taken over, except just after set_master() or load_state_dict(). A call with another
  /// kind carries the masters over; `none` drops them. Throws NotImplementedError where supports_master_weights() is
  /// false.
  void keep_master_weights(MasterWeights kind = MasterWeights::f32);
  MasterWeights master_weights() const { return master_kind_; }
  /// Whether step() updates masters.
  virtual bool supports_master_weights() const { return false; }
  /// The f32 value of one of this optimizer's parameters: its master, or the parameter itself where it has none. With
  /// `remainder` it is computed; writing to it has no effect, set_master() has.
  Tensor master(const Tensor& param) const;
  /// Makes `value` (floating, of the parameter's sizes) the master of `param`, and rounds it into the parameter.
  void set_master(const Tensor& param, const Tensor& value);
  /// master() of all parameters, in order.
  std::vector<Tensor> master_params() const;

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
  /// its first step has no state. Master weights are there in f32, as "master_weights.0", ..., and what a mode keeps,
  /// as "step_scaler.loss_scaler0.scale", ... The tensors share memory with the optimizer.
  StateDict state_dict() const;
  /// Takes over options and state. The parameters are matched by number; state goes to the device of its parameter.
  /// Master weights are taken over, rounded into the parameters too, where this optimizer keeps them. The state of a
  /// mode may be absent, and is left where this optimizer has no mode: runs go on with AMP and without.
  /// Throws StateError, and changes nothing, for a state that does not fit (all misfits are listed) or options out of
  /// their domains.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// The checks of load_state_dict; what it returns does the rest. The optimizer must not change in between.
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  /// Whether step(closure) may do more than step(scaling) does, so that a GradScaler must call it. True for classes
  /// derived from SGD, Adam and AdamW; one that leaves step(closure) as it is may return false.
  virtual bool overrides_step() const { return false; }
  /// Throws StateError when the parameter list is empty.
  static OptimizerParamGroup group_of(std::vector<Tensor> params);
  /// Throws StateError when an option has no sensible value. Called for every group that is added.
  virtual void check_options(const OptimizerOptions& options) const;
  /// The state of `param` at its first step, for load_state_dict to fill: every tensor in the form it must have. Throws
  /// NotImplementedError unless overridden.
  virtual std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const;
  /// Checks the options of all groups: for constructors, in which the base cannot call check_options().
  void check_all_options() const;
  /// step(scaling) without a scaling, or what the step scaler makes of it. The last thing that step(closure) does.
  void plain_step();
  /// What a step updates for a parameter, and what it writes along: the parameter and its low-precision copy, the
  /// master and the parameter, or the parameter and its remainder.
  struct StepTarget {
    Tensor updated, shadow;
  };
  StepTarget step_target(const Tensor& param);
  /// After the backend's call: notes that masters and parameters agree.
  void note_masters(const OptimizerTensors& call);
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

  struct Master {
    Tensor value;         // f32, or the i16 remainder
    DataVersion version;  // of the parameter when the two agreed
    Tensor given;         // of a remainder: the parameter as set_master() left it, until the next step
  };
  /// Whether this optimizer keeps a master of `param`.
  bool has_master(const Tensor& param) const;
  /// The master of `param`, up to date with it; null where it has none.
  Master* current_master(const Tensor& param) const;

  uint64_t id_ = next_id();
  std::shared_ptr<const Optimizer*> self_ = std::make_shared<const Optimizer*>(this);  // seen weakly, by graphs
  std::vector<OptimizerParamGroup> param_groups_;
  MasterWeights master_kind_ = MasterWeights::none;
  mutable std::unordered_map<TensorImpl*, Master> masters_;  // brought up to date when they are asked for
  /// Its own, or the process's; null where there is neither.
  std::shared_ptr<StepScaler> current_step_scaler() const;

  std::shared_ptr<StepScaler> step_scaler_;
  bool inside_scaler_ = false;
  State state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

}  // namespace tandem::optim
