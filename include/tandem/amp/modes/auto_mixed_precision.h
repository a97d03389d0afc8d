#pragma once
// Automatic mixed precision: the environment variable TANDEM_AUTO_MIXED_PRECISION=1 enables AMP for an unmodified
// program. Source: TensorFlow, TF_ENABLE_AUTO_MIXED_PRECISION.
#include <optional>
#include <string>
#include <vector>

#include "tandem/amp/policy_overrides.h"
#include "tandem/base/arg.h"
#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Options, which can be set by further environment variables. Lists are comma-separated op names.
///
///   TANDEM_AUTO_MIXED_PRECISION_DTYPE       f16 or bf16; default: f16 on CUDA, bf16 on the CPU
///   TANDEM_AUTO_MIXED_PRECISION_LOSS_SCALE  "dynamic" (starts at 32768) or a number; used only with f16
///   TANDEM_AUTO_MIXED_PRECISION_ALLOWLIST_ADD, _ALLOWLIST_REMOVE   ops that run in the low dtype
///   TANDEM_AUTO_MIXED_PRECISION_DENYLIST_ADD, _DENYLIST_REMOVE     ops that run in f32
///   TANDEM_AUTO_MIXED_PRECISION_INFERLIST_ADD, _INFERLIST_REMOVE   ops that run in the widest dtype of their inputs
///   TANDEM_AUTO_MIXED_PRECISION_CLEARLIST_ADD                      ops whose inputs are not cast, like those removed
///                                                                  from another list
struct AutoMixedPrecisionOptions {
  /// Reads the environment variables. Throws a StateError that names the variable for an invalid value.
  static AutoMixedPrecisionOptions from_environment();

  TANDEM_ARG(std::optional<DType>, dtype);
  /// The fixed loss scale; nullopt: dynamic.
  TANDEM_ARG(std::optional<double>, loss_scale);
  TANDEM_ARG(PolicyChanges, policies);
};

/// Enables automatic mixed precision. TANDEM_AUTO_MIXED_PRECISION=1 calls this before main(). Effects:
/// - Autocast is on in the calling thread and in threads that start later. AutocastGuard with `enabled = false`
///   switches it off for a scope. As always, backward passes and optimizer steps run outside autocast.
/// - If the low dtype is f16, backward() of a loss of one element multiplies gradients by a loss scale, and divides
///   them by it before hooks and `.grad` receive them. So the gradients that the program reads, clips or accumulates
///   are unscaled.
/// - With loss scaling, step() is skipped, on the device, if a gradient is inf or NaN, and the next backward() adapts
///   the scale. This holds for tandem's optimizers and for others that implement step(const FusedUnscale&). Optimizers
///   that override only step(closure) step with unscaled gradients and are never skipped.
/// - Casts of weights are kept until backward() ends.
///
/// autograd::grad is not scaled, nor is backward() with create_graph or a `gradient` argument. Throws StateError for an
/// unknown op, a policy that the op cannot have or an invalid loss scale, and DTypeError for a dtype other than f16 and
/// bf16; then nothing has changed.
void enable_auto_mixed_precision(const AutoMixedPrecisionOptions& options = {});
/// Undoes enable_auto_mixed_precision(), for the calling thread and threads that start later.
void disable_auto_mixed_precision();
/// Whether enable_auto_mixed_precision() is in effect.
bool is_auto_mixed_precision_enabled();
/// The loss scale of the next backward() on this device type; 1 without loss scaling. Waits for the device.
double auto_mixed_precision_scale(DeviceType type);

namespace detail {
/// Enables automatic mixed precision if the environment variable is set, and prints a line that says so.
bool start_auto_mixed_precision();
/// Calls it before main() in every program that includes the umbrella header.
inline const bool auto_mixed_precision_started = start_auto_mixed_precision();
}  // namespace detail

}  // namespace tandem::amp
#pragma GCC visibility pop
