#pragma once
// The environment switch: TANDEM_AUTO_MIXED_PRECISION=1 turns AMP on for a program that knows nothing of it. Source:
// TensorFlow, TF_ENABLE_AUTO_MIXED_PRECISION.
#include <optional>
#include <string>
#include <vector>

#include "tandem/amp/policy_overrides.h"
#include "tandem/base/arg.h"
#include "tandem/base/dtype.h"

namespace tandem::amp {

/// What the variables beside TANDEM_AUTO_MIXED_PRECISION say. Lists are op names with commas in between.
///
///   TANDEM_AUTO_MIXED_PRECISION_DTYPE       f16 or bf16; default: f16 on CUDA, bf16 on the CPU
///   TANDEM_AUTO_MIXED_PRECISION_LOSS_SCALE  "dynamic" (from 32768 on), or a number; only where the dtype is f16
///   TANDEM_AUTO_MIXED_PRECISION_ALLOWLIST_ADD, _ALLOWLIST_REMOVE   ops that run in the low dtype
///   TANDEM_AUTO_MIXED_PRECISION_DENYLIST_ADD, _DENYLIST_REMOVE     ops that run in f32
///   TANDEM_AUTO_MIXED_PRECISION_INFERLIST_ADD, _INFERLIST_REMOVE   ops that run in the widest dtype of their inputs
///   TANDEM_AUTO_MIXED_PRECISION_CLEARLIST_ADD                      ops that run as they are given; what was removed
///                                                                  from another list is here
struct AutoMixedPrecisionOptions {
  /// The variables' values. Throws StateError, which names the variable, for values that make no sense.
  static AutoMixedPrecisionOptions from_environment();

  TANDEM_ARG(std::optional<DType>, dtype);
  /// nullopt: dynamic.
  TANDEM_ARG(std::optional<double>, loss_scale);
  TANDEM_ARG(PolicyChanges, policies);
};

/// What the switch does, also to be called:
/// - every thread of the program is in an autocast region, this one and those that start later; AutocastGuard with
///   `enabled = false` makes an island. Backward passes and optimizer steps are outside, as always;
/// - where the low dtype is f16, backward() of a loss of one element multiplies the loss by a scale, and leaves divide
///   by it before hooks and `.grad` see the gradient: what the program reads, clips or adds up is unscaled;
/// - step() of tandem's optimizers skips on the device where a gradient is inf or NaN, and the next backward() adapts
///   the scale. An optimizer of the program's own steps unscaled gradients, and is not skipped;
/// - casts of weights are kept until backward() ends.
/// autograd::grad and backward with create_graph or with a gradient of the program's own are not scaled.
/// Throws StateError for an unknown op, a policy that it cannot have and a loss scale that is none, DTypeError for
/// another dtype than f16 and bf16; then nothing has changed.
void enable_auto_mixed_precision(const AutoMixedPrecisionOptions& options = {});
/// Undoes it, for this thread and those that start later.
void disable_auto_mixed_precision();
bool is_auto_mixed_precision_enabled();
/// The scale that the next backward() on this type of device takes; 1 where nothing is scaled. Waits for the device.
double auto_mixed_precision_scale(DeviceType type);

namespace detail {
/// Enables it, and prints a line that says so, where the environment asks for it.
bool start_auto_mixed_precision();
/// A program that includes the umbrella header asks before main() begins.
inline const bool auto_mixed_precision_started = start_auto_mixed_precision();
}  // namespace detail

}  // namespace tandem::amp
