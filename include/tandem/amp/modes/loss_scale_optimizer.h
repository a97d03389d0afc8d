#pragma once
// LossScaleOptimizer: wraps an optimizer with loss scaling. Source: Keras, keras.optimizers.LossScaleOptimizer.
#include <optional>

#include "tandem/amp/grad_scaler.h"
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Options, with Keras's defaults. The scale doubles after dynamic_growth_steps clean steps in a row and is halved at
/// an overflow.
struct LossScaleOptimizerOptions {
  TANDEM_ARG(double, initial_scale) = 32768;
  TANDEM_ARG(int64_t, dynamic_growth_steps) = 2000;
  /// If set, a fixed scale.
  TANDEM_ARG(std::optional<double>, loss_scale_factor);
};

/// Scales losses for one optimizer and steps it:
///
///   optim::Adam adam(net->parameters());
///   amp::LossScaleOptimizer optimizer(adam);
///   optimizer.zero_grad();
///   optimizer.scale_loss(loss).backward();
///   optimizer.step();
///
/// Unlike in Keras, the scale never becomes inf or 0. The inner optimizer must outlive this object.
class LossScaleOptimizer {
 public:
  /// Throws StateError for options outside their domains, and for an optimizer that already has a step scaler (set by
  /// another mode).
  explicit LossScaleOptimizer(optim::Optimizer& inner, const LossScaleOptimizerOptions& options = {});

  /// Returns loss times scale, in f32 (f64 stays f64).
  Tensor scale_loss(const Tensor& loss) { return scaler_.scale(loss); }
  /// Unscales the gradients, steps unless they contain inf or NaN, and adapts the scale. Does not wait for the device
  /// if the inner optimizer's steps_fused() is true.
  StepResult step();
  /// Clears the gradients of the inner optimizer.
  void zero_grad(bool set_to_none = true) { inner_.zero_grad(set_to_none); }
  /// Divides the gradients by the scale, so that they can be inspected or clipped before the step.
  void unscale_() { scaler_.unscale_(inner_); }

  /// The optimizer that was given to the constructor.
  optim::Optimizer& inner_optimizer() { return inner_; }
  /// For an io::Checkpoint: `run.add("scaler", optimizer.scaler())`.
  GradScaler& scaler() { return scaler_; }
  /// The current scale. Waits for the device.
  double dynamic_scale() const { return scaler_.get_scale(); }
  /// Number of clean steps since the last overflow or growth of the scale. Waits for the device.
  int64_t step_counter() const { return scaler_.get_growth_tracker(); }
  /// The state of the scaler, as GradScaler saves and loads it.
  ScalerState state_dict() const { return scaler_.state_dict(); }
  void load_state_dict(const ScalerState& state) { scaler_.load_state_dict(state); }

 private:
  optim::Optimizer& inner_;
  GradScaler scaler_;
};

}  // namespace tandem::amp
#pragma GCC visibility pop
