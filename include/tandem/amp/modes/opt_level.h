#pragma once
// Apex's interface: optimization levels O0 to O3, scale_loss, master_params. Source: NVIDIA Apex, apex.amp.
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/amp/grad_scaler.h"
#include "tandem/base/arg.h"
#include "tandem/base/scalar.h"
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// - O0: f32 training.
/// - O1: autocast in f16 for the calling thread and for threads that start later, until initialize() with another level
///   restores the previous state; dynamic loss scale. Parameters stay f32.
/// - O2: parameters in f16, except those of batch norm, with f32 masters in the optimizer; inputs cast to f16, outputs
///   to f32; dynamic loss scale.
/// - O3: all parameters in f16, without masters; inputs cast to f16, outputs to f32; no loss scaling.
enum class OptLevel : uint8_t { O0, O1, O2, O3 };

/// A fixed loss scale, `LossScale(128)`, or a dynamic one, `LossScale("dynamic")`.
class LossScale {
 public:
  /// Throws StateError unless `fixed` is positive and finite.
  LossScale(double fixed);
  /// Throws StateError unless `word` is "dynamic".
  LossScale(const char* word);
  bool is_dynamic() const { return fixed_ == 0; }
  double fixed() const { return fixed_; }

 private:
  double fixed_ = 0;  // 0: dynamic
};

/// Options of initialize(). Options that are not set take the level's value:
///
///   level  cast_model_type  patch_torch_functions  keep_batchnorm_fp32  master_weights  loss_scale
///   O0     f32              false                  -                    false           1
///   O1     -                true                   -                    -               dynamic
///   O2     f16              false                  true                 true            dynamic
///   O3     f16              false                  false                false           1
struct InitializeOptions {
  /// false: no casts, no autocast and no loss scaling; scale_loss() returns the loss unscaled.
  TANDEM_ARG(bool, enabled) = true;
  /// The dtype of parameters, buffers and inputs: f32, f16 or bf16.
  TANDEM_ARG(std::optional<DType>, cast_model_type);
  /// Whether autocast is on (the option has Apex's name).
  TANDEM_ARG(std::optional<bool>, patch_torch_functions);
  TANDEM_ARG(std::optional<bool>, keep_batchnorm_fp32);
  TANDEM_ARG(std::optional<bool>, master_weights);
  TANDEM_ARG(std::optional<LossScale>, loss_scale);
  /// The dtype that the models' outputs are cast to, at any level.
  TANDEM_ARG(std::optional<DType>, cast_model_outputs);
  /// The number of losses, each with its own scale: loss_id 0 to num_losses - 1.
  TANDEM_ARG(int64_t, num_losses) = 1;
  /// 0: silent; 1: one line at initialize(); 2: also a line at each overflow, which makes every step wait for the
  /// device.
  TANDEM_ARG(int64_t, verbosity) = 1;
  /// Limits of dynamic scales. By default there is no lower limit; a max_loss_scale of 0 means no upper limit.
  TANDEM_ARG(std::optional<double>, min_loss_scale);
  TANDEM_ARG(double, max_loss_scale) = 16777216.0;
};

/// Applies an optimization level to models and optimizers, in place. Afterwards call a model as `net(x)` (a module held
/// by value: `nn::call(net, x)`), which applies its casts; `net->forward(x)` does not. Run backward through
/// scale_loss(); optimizer.step() then skips the update after an overflow, without waiting for the device.
///
///   nn::Sequential net = ...;  optim::SGD sgd(net->parameters(), 0.1);
///   amp::initialize(net, sgd, amp::OptLevel::O2);
///   for (...) {
///     sgd.zero_grad();
///     const Tensor loss = cross_entropy(net(x), y);
///     amp::scale_loss(loss, sgd).backward();
///     sgd.step();
///   }
///
/// Masters start from the original f32 parameters (in Apex: from those rounded to f16). Throws StateError for options
/// that contradict each other or the level and for an optimizer that is given twice or already has a mode, DTypeError
/// for parameters that are not f32, NotImplementedError for an optimizer that does not support skipping or, if needed,
/// masters.
void initialize(const std::vector<nn::Module*>& models, const std::vector<optim::Optimizer*>& optimizers,
                OptLevel level = OptLevel::O1, const InitializeOptions& options = {});
inline void initialize(nn::Module& model, optim::Optimizer& optimizer, OptLevel level = OptLevel::O1,
                       const InitializeOptions& options = {}) {
  initialize({&model}, {&optimizer}, level, options);
}
template <class Contained>
void initialize(const nn::ModuleHolder<Contained>& model, optim::Optimizer& optimizer, OptLevel level = OptLevel::O1,
                const InitializeOptions& options = {}) {
  initialize(*model, optimizer, level, options);
}
/// Returns the level named "O0", "O1", "O2" or "O3". Throws StateError for any other word.
OptLevel opt_level(std::string_view word);

class ApexStepScaler;

/// Options of scale_loss(): `ScaleLossOptions().loss_id(1)`
struct ScaleLossOptions {
  /// The loss whose scale is used.
  TANDEM_ARG(int64_t, loss_id) = 0;
  /// Leaves gradients scaled, for further backward passes of the same loss before the step (gradient accumulation).
  /// Existing unscaled gradients are scaled as well.
  TANDEM_ARG(bool, delay_unscale) = false;
};

/// A scaled loss, returned by scale_loss(). At the end of its scope gradients are unscaled and checked for inf and NaN,
/// the scale is adapted, and gradients that existed before scale_loss() are added.
class [[nodiscard]] ScaledLoss {
 public:
  ~ScaledLoss();
  ScaledLoss(const ScaledLoss&) = delete;
  ScaledLoss& operator=(const ScaledLoss&) = delete;

  /// loss times scale. Run its backward before the scope ends.
  const Tensor& tensor() const { return scaled_; }
  operator const Tensor&() const { return scaled_; }
  /// Calls tensor().backward(...).
  void backward(std::optional<bool> retain_graph = std::nullopt, bool create_graph = false) const;
  /// Does the work of the end of the scope, and throws its exceptions. If the destructor does the work, the optimizers'
  /// next step() throws them instead. If finish() throws, or the scope is left by an exception, gradients are as they
  /// were before scale_loss().
  void finish();

 private:
  friend ScaledLoss scale_loss(const Tensor&, const std::vector<optim::Optimizer*>&, const ScaleLossOptions&);
  ScaledLoss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers, const ScaleLossOptions& options);

  void add_gradients(ApexStepScaler& scaling);
  void drop_new_gradients();

  std::shared_ptr<ApexStepScaler> scaling_;  // null after finish()
  std::vector<optim::Optimizer*> optimizers_;
  ScaleLossOptions options_;
  std::vector<std::pair<Tensor, Tensor>> stash_;  // parameters and their gradients before scale_loss()
  bool stash_scaled_ = false;
  Tensor scaled_;
  int exceptions_;
};

/// Scales a loss, see ScaledLoss. Pass all optimizers whose parameters receive gradients from the loss: an overflow
/// skips the next step of each. Throws StateError for an optimizer that was not passed to initialize(), and for a
/// loss_id outside [0, num_losses).
ScaledLoss scale_loss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers,
                      const ScaleLossOptions& options = {});
inline ScaledLoss scale_loss(const Tensor& loss, optim::Optimizer& optimizer, const ScaleLossOptions& options = {}) {
  return scale_loss(loss, std::vector<optim::Optimizer*>{&optimizer}, options);
}

/// Returns the f32 tensors that the optimizer updates, with the gradients of their parameters, for example for
/// `clip_grad_norm_(amp::master_params(sgd), 1.0)` between scale_loss() and step(). Change the gradients in place only.
/// The optimizer's zero_grad() also drops these gradients.
std::vector<Tensor> master_params(optim::Optimizer& optimizer);

/// The scaler states of all losses, keyed "loss_scaler0", ... (see GradScaler::state_dict). `optimizer` is any of the
/// optimizers that were initialized together.
using LossScalersState = std::map<std::string, ScalerState>;
/// Returns the states of these scalers.
LossScalersState state_dict(const optim::Optimizer& optimizer);
/// Loads these states, also those of a run at another level or with another number of losses: entries without a
/// counterpart are ignored with a warning, and a fixed scale is not changed. Throws StateError, and changes nothing,
/// for an unexpected key or an invalid state.
void load_state_dict(const optim::Optimizer& optimizer, const LossScalersState& state);

/// Returns the model's parameters and buffers, with f16 and bf16 tensors converted to f32, whatever the level. For a
/// parameter with a master in one of the optimizers, returns the master. The tensors are copies.
OrderedDict<std::string, Tensor> model_state(const nn::Module& model,
                                             const std::vector<optim::Optimizer*>& optimizers = {});
/// Loads such a state into a model of any level and into the optimizers' masters. Throws StateError, and changes
/// nothing, for missing or unexpected names, different sizes or a different kind of dtype; the message lists all
/// mismatches.
void load_model_state(const nn::Module& model, const OrderedDict<std::string, Tensor>& state,
                      const std::vector<optim::Optimizer*>& optimizers = {});

/// Set the policy of an op for the whole process, like Apex's functions of these names; see set_policy().
void register_half_function(std::string_view op);
void register_float_function(std::string_view op);
void register_promote_function(std::string_view op);

}  // namespace tandem::amp
#pragma GCC visibility pop
