#pragma once
// Apex's modes: optimization levels O0 to O3, scale_loss, master_params. Source: NVIDIA Apex, apex.amp.
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

namespace tandem::amp {

/// - O0: f32 training.
/// - O1: autocast in f16 for the calling thread and for threads that start later, until initialize() with another level
///   brings back what was there before; dynamic loss scale. Parameters stay f32.
/// - O2: parameters in f16 but for batch norm, f32 masters in the optimizer, inputs cast to f16, outputs to f32;
///   dynamic loss scale.
/// - O3: everything in f16, no masters, no loss scaling.
enum class OptLevel : uint8_t { O0, O1, O2, O3 };

/// A fixed loss scale, `LossScale(128)`, or an adaptive one, `LossScale("dynamic")`.
class LossScale {
 public:
  /// Throws StateError unless positive and finite.
  LossScale(double fixed);
  /// Throws StateError for another word than "dynamic".
  LossScale(const char* word);
  bool is_dynamic() const { return fixed_ == 0; }
  double fixed() const { return fixed_; }

 private:
  double fixed_ = 0;  // 0: dynamic
};

/// Overrides of a level's properties; what is not set is the level's.
///
///   level  cast_model_type  patch_torch_functions  keep_batchnorm_fp32  master_weights  loss_scale
///   O0     f32              false                  -                    false           1
///   O1     -                true                   -                    -               dynamic
///   O2     f16              false                  true                 true            dynamic
///   O3     f16              false                  false                false           1
struct InitializeOptions {
  /// false: initialize() changes nothing, scale_loss() gives the loss itself.
  TANDEM_ARG(bool, enabled) = true;
  /// f32, f16 or bf16: of parameters, buffers and inputs.
  TANDEM_ARG(std::optional<DType>, cast_model_type);
  /// Autocast. Apex's name.
  TANDEM_ARG(std::optional<bool>, patch_torch_functions);
  TANDEM_ARG(std::optional<bool>, keep_batchnorm_fp32);
  TANDEM_ARG(std::optional<bool>, master_weights);
  TANDEM_ARG(std::optional<LossScale>, loss_scale);
  /// Casts the models' outputs at any level.
  TANDEM_ARG(std::optional<DType>, cast_model_outputs);
  /// How many losses have a scale of their own: loss_id 0 to num_losses - 1.
  TANDEM_ARG(int64_t, num_losses) = 1;
  /// 0: silent; 1: one line at initialize(); 2: a line at each overflow too, for which every step waits.
  TANDEM_ARG(int64_t, verbosity) = 1;
  /// Floor and ceiling of dynamic scales.
  TANDEM_ARG(std::optional<double>, min_loss_scale);
  TANDEM_ARG(double, max_loss_scale) = 16777216.0;
};

/// Makes models and optimizers work at a level, in place. Afterwards call a model as `net(x)` (a module by value:
/// `nn::call(net, x)`), which applies its casts; `net->forward(x)` leaves them out. A loss runs backward through
/// scale_loss(), then optimizer.step() skips by itself where there was an overflow, without a wait.
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
/// Masters begin as the f32 parameters (Apex: as these rounded to f16). Throws StateError: options that contradict each
/// other or the level, an optimizer given twice or initialized before; DTypeError: parameters that are not f32;
/// NotImplementedError: an optimizer that cannot skip, or keep masters, by itself.
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
/// "O0" to "O3". Throws StateError for another word.
OptLevel opt_level(std::string_view word);

class LossScaling;

/// `ScaleLossOptions().loss_id(1)`
struct ScaleLossOptions {
  /// Whose scale is used.
  TANDEM_ARG(int64_t, loss_id) = 0;
  /// Leaves gradients scaled, for more backward passes of the same loss before the step (gradient accumulation). Those
  /// that were there unscaled are scaled too.
  TANDEM_ARG(bool, delay_unscale) = false;
};

/// A loss times its scale, from scale_loss() to the end of its scope, where gradients are unscaled, looked through for
/// inf and NaN, and the scale adapts. Gradients that were there before are added.
class [[nodiscard]] ScaledLoss {
 public:
  ~ScaledLoss();
  ScaledLoss(const ScaledLoss&) = delete;
  ScaledLoss& operator=(const ScaledLoss&) = delete;

  /// loss times scale; run it backward before the scope ends.
  const Tensor& tensor() const { return scaled_; }
  operator const Tensor&() const { return scaled_; }
  /// tensor().backward(...)
  void backward(std::optional<bool> retain_graph = std::nullopt, bool create_graph = false) const;
  /// What the end of the scope does, with exceptions. The destructor keeps one for the optimizers' next step() to
  /// throw. Where this throws, or an exception passes the scope, gradients are as they were before scale_loss().
  void finish();

 private:
  friend ScaledLoss scale_loss(const Tensor&, const std::vector<optim::Optimizer*>&, const ScaleLossOptions&);
  ScaledLoss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers, const ScaleLossOptions& options);

  void add_gradients(LossScaling& scaling);
  void drop_new_gradients();

  std::shared_ptr<LossScaling> scaling_;  // null when done
  std::vector<optim::Optimizer*> optimizers_;
  ScaleLossOptions options_;
  std::vector<std::pair<Tensor, Tensor>> stash_;  // parameters and the gradients that they had
  bool stash_scaled_ = false;
  Tensor scaled_;
  int exceptions_;
};

/// See ScaledLoss. All optimizers into whose parameters the loss runs must be given: an overflow skips the next step of
/// each. Throws StateError for one that initialize() has not seen, and for a loss_id outside [0, num_losses).
ScaledLoss scale_loss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers,
                      const ScaleLossOptions& options = {});
inline ScaledLoss scale_loss(const Tensor& loss, optim::Optimizer& optimizer, const ScaleLossOptions& options = {}) {
  return scale_loss(loss, std::vector<optim::Optimizer*>{&optimizer}, options);
}

/// The f32 tensors that the optimizer updates, with the gradients of their parameters: `clip_grad_norm_(
/// amp::master_params(sgd), 1.0)` between scale_loss() and step(). Gradients are to be changed in place. zero_grad() of
/// the optimizer drops them here too.
std::vector<Tensor> master_params(optim::Optimizer& optimizer);

/// The states of all losses' scales: "loss_scaler0", ... See GradScaler::state_dict. `optimizer`: any of those that
/// were initialized together.
using LossScalersState = std::map<std::string, ScalerState>;
LossScalersState state_dict(const optim::Optimizer& optimizer);
/// Takes them over, also from a run at another level or with another number of losses: what has no counterpart is left
/// with a warning; a fixed scale stays as it is. Throws StateError, and changes nothing, for a key of another form.
void load_state_dict(const optim::Optimizer& optimizer, const LossScalersState& state);

/// The model's parameters and buffers in f32 whatever its level: a parameter that one of the optimizers holds a master
/// of gives the master. The tensors are copies.
OrderedDict<std::string, Tensor> model_state(const nn::Module& model,
                                             const std::vector<optim::Optimizer*>& optimizers = {});
/// Writes such a state into a model of any level, and into the optimizers' masters. Throws StateError, and changes
/// nothing, for missing or unexpected names, other sizes and other kinds of dtype; all misfits are listed.
void load_model_state(const nn::Module& model, const OrderedDict<std::string, Tensor>& state,
                      const std::vector<optim::Optimizer*>& optimizers = {});

/// Moves an op to another list, for the whole process: Apex's register_half_function and its kin as set_policy().
void register_half_function(std::string_view op);
void register_float_function(std::string_view op);
void register_promote_function(std::string_view op);

}  // namespace tandem::amp
