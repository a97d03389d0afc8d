#pragma once
// Optimizer: parameter groups, per-parameter state, closures, master weights, and the fused step that a GradScaler
// calls.
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

#pragma GCC visibility push(default)
namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::optim {

/// The hyperparameters of one parameter group.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// The learning rate, which schedules read and set. Throw StateError unless overridden.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  /// Passes every option to `visitor`, with its name, for saving and loading. Throws NotImplementedError unless
  /// overridden.
  virtual void visit_fields(StateVisitor& visitor);
  /// libtorch's functions that read and write the values by name, for optimizers of programs. Throw NotImplementedError
  /// unless overridden; tandem's own options have visit_fields() instead.
  virtual void serialize(tandem::serialize::InputArchive& archive);
  virtual void serialize(tandem::serialize::OutputArchive& archive) const;
};

/// Implements clone(). Not by make_unique, whose unique_ptr<Derived> each program would have to compile.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::unique_ptr<OptimizerOptions>(new Derived(static_cast<const Derived&>(*this)));
  }
};

/// An optimizer's state of one parameter.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  /// For programs: tandem clones no state. Throws NotImplementedError unless overridden.
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  /// Passes every field to `visitor`, with its name, for saving and loading. Throws NotImplementedError unless
  /// overridden.
  virtual void visit_fields(StateVisitor& visitor);
  /// As those of OptimizerOptions.
  virtual void serialize(tandem::serialize::InputArchive& archive);
  virtual void serialize(tandem::serialize::OutputArchive& archive) const;
};

/// Implements clone().
template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::unique_ptr<OptimizerParamState>(new Derived(static_cast<const Derived&>(*this)));
  }
};

/// Parameters with common options. A group without options gets the optimizer's defaults.
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
  /// Throw StateError if the group has none.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  /// Replaces the group's options.
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  /// The parameters of the group.
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  /// The learning rate that schedules start from. The first schedule sets it to the group's current rate.
  std::optional<double>& initial_lr() { return initial_lr_; }
  const std::optional<double>& initial_lr() const { return initial_lr_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

class Optimizer;

/// Replaces the plain step() of an optimizer, in mixed-precision modes in which the program does not call a GradScaler.
class StepScaler {
 public:
  virtual ~StepScaler() = default;
  /// Steps `optimizer` by calling its step(const FusedUnscale&).
  virtual void step(Optimizer& optimizer) = 0;
  /// The state that a resumed run needs, such as the loss scale. It becomes part of the optimizers' state_dict(). Empty
  /// by default.
  virtual StateDict state_dict() { return {}; }
  /// Checks a state and returns a function that loads it. The state may come from another kind of step scaler: entries
  /// that have no counterpart here are ignored.
  virtual StateCommit prepare_load_state_dict(const StateDict& state);
};

/// What an optimizer keeps between steps to preserve the f32 values of f16 and bf16 parameters.
enum class MasterWeights : uint8_t {
  none,      ///< nothing: each step rounds the parameter, so updates below its precision are lost
  f32,       ///< an f32 copy: 4 additional bytes per element
  remainder  ///< for bf16, the low 16 bits of the f32 value: 2 additional bytes per element; for f16, an f32 copy
};

/// Base of all optimizers. tandem's own optimizers make one backend call per group, device and dtype and read nothing
/// back: step counts, scale and found_inf stay on the device.
///
/// A user-defined optimizer overrides one of the two step() functions and makes the other one visible by
/// `using Optimizer::step;`:
///
/// - step(scaling), together with supports_amp_scaling(), if the optimizer itself unscales gradients and skips the
///   step. A GradScaler then never waits for the device, and the optimizer works in every mode with loss scaling.
/// - step(closure), which suffices for f32. It also works with a GradScaler, which unscales the gradients and waits for
///   one flag before it calls step(). Modes with loss scaling reject such an optimizer; process-wide modes do not, and
///   leave its steps unchanged.
///
/// If you override both, to call the closure more than once, end step(closure) with plain_step(), which applies the
/// current mode.
///
/// A class derived from one of tandem's optimizers may override either. By default a GradScaler unscales, waits for the
/// flag and calls step(), as for step(closure) above. If the class overrides overrides_step() to return false, the
/// scaler calls step(scaling).
class Optimizer {
 public:
  /// Recomputes the loss and returns it. Called with gradient recording on.
  using LossClosure = std::function<Tensor()>;

  /// Throw StateError for an empty list of groups or of parameters, and the errors of add_param_group.
  Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// A number that is unique among all optimizers of the process.
  uint64_t id() const { return id_; }

  /// Adds a parameter group; a group without options gets the defaults. Throws StateError for an undefined parameter or
  /// one that this optimizer already has, DTypeError for one that is not floating, ShapeError for one that is expanded,
  /// AutogradError for one that is not a leaf.
  virtual void add_param_group(const OptimizerParamGroup& group);

  /// Updates every parameter that has a gradient. Returns the closure's loss, undefined without a closure. The default
  /// implementation calls plain_step().
  virtual Tensor step(LossClosure closure = nullptr);
  /// The step that a GradScaler calls. Multiplies gradients by `scaling.inverse_scale` as it reads them. If
  /// `scaling.found_inf` is not 0, it writes nothing: no parameter, no state, no step count. `.grad` is not changed.
  /// Throws NotImplementedError unless overridden.
  virtual void step(const FusedUnscale& scaling);
  /// Whether step(scaling) is implemented.
  virtual bool supports_amp_scaling() const { return false; }
  /// Whether step() must be given a closure, because it evaluates the loss more than once. An enabled GradScaler
  /// refuses such an optimizer.
  virtual bool needs_closure() const { return false; }
  /// True if a GradScaler calls step(scaling), which does not wait for the device. If false, it unscales the gradients,
  /// waits for found_inf and calls step().
  bool steps_fused() const { return supports_amp_scaling() && (inside_scaler_ || !overrides_step()); }
  /// Makes plain_step() delegate to `scaler`; null removes the optimizer's step scaler. Throws NotImplementedError if
  /// `scaler` is not null and supports_amp_scaling() is false.
  void set_step_scaler(std::shared_ptr<StepScaler> scaler);
  const std::shared_ptr<StepScaler>& step_scaler() const { return step_scaler_; }
  /// Sets the step scaler of all optimizers in the process that have none themselves.
  static void set_default_step_scaler(std::shared_ptr<StepScaler> scaler);

  // ---- master weights: f32 values of 16-bit parameters, which steps update
  /// Keeps an f32 master for each f16 and bf16 parameter, from the next step on. A step updates the master and writes
  /// its rounded value to the parameter in the same pass. Backward passes then accumulate `.grad` of these parameters
  /// in f32. A 16-bit `.grad` that the program assigns is accepted too.
  ///
  /// If a parameter was changed since the last step (loaded, written in place), the master takes its value in those
  /// elements that differ from the rounded master. With a remainder those elements are not known, so the master takes
  /// all of the parameter, except between set_master() or load_state_dict() and the next step.
  ///
  /// A call with another kind converts the existing masters; `none` drops them. Throws NotImplementedError if
  /// supports_master_weights() is false, except for `none`.
  void keep_master_weights(MasterWeights kind = MasterWeights::f32);
  MasterWeights master_weights() const { return master_kind_; }
  /// Whether step() can update masters.
  virtual bool supports_master_weights() const { return false; }
  /// The master of one of this optimizer's parameters, or the parameter itself if it has none. For a bf16 parameter
  /// with `remainder` it is a computed copy: call set_master() to change it.
  Tensor master(const Tensor& param) const;
  /// Sets the master of `param` to `value`, which must be floating and have the parameter's sizes, and writes the
  /// rounded value to the parameter. Throws StateError if `param` has no master.
  void set_master(const Tensor& param, const Tensor& value);
  /// master() of every parameter, in order.
  std::vector<Tensor> master_params() const;

  /// Drops the gradients of all parameters; if not `set_to_none`, fills them with zeros.
  void zero_grad(bool set_to_none = true);

  OptimizerOptions& defaults() { return *defaults_; }
  const OptimizerOptions& defaults() const { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return param_groups_; }
  /// The parameters of all groups, in order.
  std::vector<Tensor> parameters() const;
  /// The number of parameters in all groups.
  size_t size() const;

  /// State by parameter: `optimizer.state()[&parameter.impl()]`. A parameter has none before its first step. One that
  /// has state stays in memory as long as the optimizer.
  using State = std::unordered_map<TensorImpl*, std::unique_ptr<OptimizerParamState>>;
  /// The state of all parameters.
  State& state() { return state_holder().state_; }
  const State& state() const { return holder().state_; }

  /// Options and state, keyed by the numbers of groups and parameters: "param_groups.0.lr", "param_groups.0.params"
  /// (the numbers of its parameters, i64), "state.0.exp_avg", ... This is torch.optim's dictionary, flattened. Master
  /// weights are included in f32, as "master_weights.0", ..., and the state of a step scaler as
  /// "step_scaler.loss_scaler0.scale", ... As in torch.optim, entries of groups and parameters that the optimizer does
  /// not know, such as "param_groups.0.lr_scale", are kept from the loaded state. The tensors share memory with the
  /// optimizer, except masters computed from remainders.
  virtual StateDict state_dict() const;
  /// Loads options and state. Parameters are matched by number; state is moved to the device of its parameter. Master
  /// weights are loaded if this optimizer keeps them, and also written to the parameters, rounded. The state of a step
  /// scaler may be missing, and is ignored if this optimizer has none, so a run can be resumed with or without AMP.
  /// Throws StateError, and changes nothing, for a state that does not fit (the message lists all mismatches) or
  /// options outside their domains.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// Checks a state as load_state_dict does, and returns a function that loads it. The optimizer must not change before
  /// that function is called.
  virtual StateCommit prepare_load_state_dict(const StateDict& state);
  /// Writes state_dict() to an archive (io/archive.h), and loads it from one, of which entries with other names are
  /// ignored. tandem::save(optimizer, path) and load(optimizer, path) call these.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// The optimizer that keeps the state and the masters of this one's parameters. Wrappers around an optimizer return
  /// that one; functions that use state and masters then use those of the wrapped optimizer, and options are checked by
  /// it.
  virtual Optimizer& state_holder() { return *this; }
  /// Whether state_holder() keeps the state and the master of `param`. If not, loaded ones are checked and dropped,
  /// master() returns the parameter, and set_master() only writes it.
  virtual bool keeps_state_of(const Tensor& param) const;
  /// Whether step(closure) may do more than step(scaling), so that a GradScaler must call step(). True for classes
  /// derived from tandem's optimizers; a derived class that does not override step(closure) may return false.
  virtual bool overrides_step() const { return false; }
  /// Returns a group of `params`. Throws StateError if the list is empty.
  static OptimizerParamGroup group_of(std::vector<Tensor> params);
  /// Throws StateError if an option is outside its domain. Called for every group that is added.
  virtual void check_options(const OptimizerOptions& options) const;
  /// Returns the initial state of `param`, which load_state_dict fills: every tensor with its final sizes, dtype and
  /// device. Throws NotImplementedError unless overridden.
  virtual std::unique_ptr<OptimizerParamState> new_param_state(const Tensor& param) const;
  /// Checks the options of all groups. For constructors of derived classes, since the base constructor cannot call
  /// their check_options().
  void check_all_options() const;
  /// Calls step(scaling) without a scaling or, if there is a step scaler, lets it step. An overridden step(closure)
  /// ends with this call.
  void plain_step();
  /// The tensor that a step updates for a parameter, and the second tensor that it writes in the same pass: the
  /// parameter and its low-precision copy, the master and the parameter, or the parameter and its remainder.
  struct StepTarget {
    Tensor updated, shadow;
  };
  /// Returns the tensors that a step updates for a parameter.
  StepTarget step_target(const Tensor& param);
  /// Records, after a backend call, that masters and parameters agree.
  void note_masters(const OptimizerTensors& call);
  /// Returns the closure's loss, computed with gradient recording on; undefined without a closure.
  static Tensor evaluate(const LossClosure& closure);
  /// Keeps `param` as long as this optimizer, even if it leaves its group, so that no new parameter gets its address,
  /// the key of its state. To be called when an entry is added to state().
  void keep_alive(const Tensor& param) const { kept_.push_back(param); }
  /// Returns the state of `param`, created by `make` at its first step.
  template <class ParamState, class Make>
  ParamState& state_of(const Tensor& param, Make&& make) {
    const auto found = state_.find(&param.impl());
    if (found != state_.end() && found->second) return static_cast<ParamState&>(*found->second);
    auto made = std::make_unique<ParamState>(make(param));  // if it throws, no entry has been added
    keep_alive(param);
    return static_cast<ParamState&>(*(state_[&param.impl()] = std::move(made)));
  }
  /// During the capture of a CUDA graph: the address from which the captured step reads the group's learning rate. Each
  /// replay first writes the rate from the group's options there. Null outside a capture.
  const double* captured_lr(const OptimizerParamGroup& group) const;

  std::vector<OptimizerParamGroup> param_groups_;
  State state_;
  std::unique_ptr<OptimizerOptions> defaults_;

 private:
  static uint64_t next_id();
  const Optimizer& holder() const { return const_cast<Optimizer*>(this)->state_holder(); }
  /// Makes backward passes write the gradients of parameters with masters in f32.
  void set_grad_dtypes(const std::vector<Tensor>& parameters) const;
  /// Implements add_param_group.
  void add(const OptimizerParamGroup& group);

  struct Master {
    Tensor value;         // f32, or the remainder in i16
    DataVersion version;  // of the parameter, when master and parameter last agreed
    Tensor given;         // with a remainder: copy of the parameter after set_master(), kept until the next step
  };
  /// Whether this optimizer keeps a master of `param`.
  bool has_master(const Tensor& param) const;
  /// Returns the entry of `param` in masters_; a new one keeps `param` alive.
  Master& entry_of(const Tensor& param) const;
  /// Returns the master of `param`, after applying changes of the parameter to it; null if it has none.
  Master* current_master(const Tensor& param) const;

  uint64_t id_ = next_id();
  std::shared_ptr<const Optimizer*> self_ =
      std::make_shared<const Optimizer*>(this);  // for weak references from CUDA graphs
  MasterWeights master_kind_ = MasterWeights::none;
  mutable std::unordered_map<TensorImpl*, Master> masters_;  // updated on access
  mutable std::vector<Tensor> kept_;                         // the parameters that have had a state or a master
  /// This optimizer's step scaler, else the process's; null if there is neither.
  std::shared_ptr<StepScaler> current_step_scaler() const;

  std::shared_ptr<StepScaler> step_scaler_;
  bool inside_scaler_ = false;
  StateDict unknown_;  // entries of a loaded state that this optimizer does not know
};

}  // namespace tandem::optim
#pragma GCC visibility pop
