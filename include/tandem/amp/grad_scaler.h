#pragma once
// GradScaler: dynamic loss scaling. torch.amp.GradScaler in C++, with the scale, its tracker and the found-inf flags on
// the device, so that a training step never waits for them.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/backend.h"
#include "tandem/optim/optimizer.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp {

namespace detail {
class SkipWatch;
}

/// How many overflows it takes to lower the scale, for `hysteresis` > 1. Three systems use the word for three rules:
/// - megatron: each overflow uses up one of `hysteresis` lives; at zero the scale backs off (and keeps doing so);
///   a clean step restores all lives. Source: Apex, update_scale_hysteresis.cu.
/// - colossal: overflows are counted; from the `hysteresis`-th on each backs off; only a growth of the scale resets the
///   count. Source: Colossal-AI, DynamicGradScaler.
/// - paddle: the scale backs off at every `hysteresis`-th overflow in a row; a clean step resets the count.
///   Source: Paddle, decr_every_n_nan_or_inf.
using Hysteresis = HysteresisRule;

/// The numbers of a GradScaler by name, as PyTorch names them.
using ScalerState = std::unordered_map<std::string, Scalar>;

/// Options of a GradScaler, set by name: `GradScalerOptions().init_scale(1024).growth_interval(100)`.
/// Defaults are PyTorch's; what PyTorch does not have is off.
struct GradScalerOptions {
#define TANDEM_OPTION(TYPE, NAME, VALUE) \
 public:                                 \
  GradScalerOptions& NAME(TYPE value) {  \
    NAME##_ = value;                     \
    return *this;                        \
  }                                      \
  TYPE NAME() const { return NAME##_; }  \
                                         \
 private:                                \
  TYPE NAME##_ = VALUE
  TANDEM_OPTION(double, init_scale, 65536.0);     ///< the first scale
  TANDEM_OPTION(double, growth_factor, 2.0);      ///< > 1
  TANDEM_OPTION(double, backoff_factor, 0.5);     ///< in (0, 1)
  TANDEM_OPTION(int64_t, growth_interval, 2000);  ///< clean steps in a row before the scale grows
  TANDEM_OPTION(bool, enabled, true);             ///< false: every call passes through
  TANDEM_OPTION(double, min_scale, 0.0);          ///< floor; 0: none
  TANDEM_OPTION(double, max_scale, 0.0);          ///< ceiling; 0: none
  TANDEM_OPTION(int64_t, hysteresis, 1);          ///< see Hysteresis
  TANDEM_OPTION(Hysteresis, hysteresis_rule, Hysteresis::megatron);
  TANDEM_OPTION(bool, static_scale, false);          ///< the scale stays init_scale; steps with inf are still skipped
  TANDEM_OPTION(int64_t, max_consecutive_skips, 0);  ///< more skips in a row throw StateError; 0: never
#undef TANDEM_OPTION
};

/// What GradScaler::step did. Free to ignore; asking costs a wait for the device, once.
class StepResult {
 public:
  /// True when the gradients held inf or NaN and the parameters were left alone.
  bool skipped() const;
  /// The flag itself, which costs no wait: f32 of one element on the device, not 0 after a skip. Undefined when the
  /// scaler is disabled.
  const Tensor& found_inf() const { return found_inf_; }

 private:
  friend class GradScaler;
  explicit StepResult(Tensor found_inf = {}) : found_inf_(std::move(found_inf)) {}
  Tensor found_inf_;  // its own: later iterations use others
};

/// What GradScaler::run_step did.
struct RunStepResult {
  Tensor loss;           ///< of the last run of the batch, unscaled, without history
  int64_t replays = 0;   ///< how often the batch was run again
  bool skipped = false;  ///< the last run overflowed too: the parameters are as they were
};

/// Scales losses so that f16 gradients do not underflow, unscales gradients, skips steps with inf or NaN, and adapts
/// the scale.
///
///   scaler.scale(loss).backward();
///   scaler.unscale_(optimizer);        // only to look at or clip gradients
///   scaler.step(optimizer);
///   scaler.update();                   // once per iteration, after all optimizers
///
/// Per optimizer and iteration: scale, [unscale_], step; then update. Any other order throws StateError. One scaler
/// serves any number of optimizers; use a fresh one for each training run. Where it differs from PyTorch's:
/// docs/differences.md.
class GradScaler {
 public:
  /// Throws StateError for options outside their domains.
  explicit GradScaler(const GradScalerOptions& options = {});
  // A copy would share the state on the device. A second scaler takes over a state with load_state_dict().
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;
  GradScaler(GradScaler&&) = default;
  GradScaler& operator=(GradScaler&&) = default;

  /// loss times scale, in f32 (f64 stays f64). The first call puts the scaler's state on the loss's device.
  Tensor scale(const Tensor& loss);
  std::vector<Tensor> scale(const std::vector<Tensor>& losses);

  /// Divides the optimizer's gradients by the scale in place and looks for inf and NaN, before and after.
  /// Throws DTypeError for f16 gradients (they belong to parameters that should be f32) and for integers, DeviceError
  /// for gradients on another type of device than the scale. A gradient that several parameters or optimizers share is
  /// divided once.
  void unscale_(optim::Optimizer& optimizer);

  /// The same for plain tensors, of any floating dtype: gradients that no optimizer of this scaler steps, or that their
  /// owner steps itself. Returns the flag, f32 of one element: not 0 where there was an inf or NaN. It counts at the
  /// next update().
  Tensor unscale_(const std::vector<Tensor>& grads);
  /// Lets a flag that somebody else has found count at the next update().
  void record_found_inf(const Tensor& found_inf);

  /// Steps the optimizer with unscaled gradients, unless they hold inf or NaN. Does not wait for the device with
  /// tandem's optimizers; any other optimizer, those derived from tandem's included, costs one read: its step() is
  /// called, and only where the gradients are finite (Optimizer::steps_fused). Afterwards `.grad` is unscaled, also
  /// after a skip. The parameters are bit for bit those of unscale_() and step().
  StepResult step(optim::Optimizer& optimizer);
  /// Throws StateError when enabled: a closure would evaluate the loss behind the scaler's back.
  StepResult step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure);

  /// One whole iteration that loses no batch to an overflow: zero_grad(), scale(closure()).backward(), step(),
  /// update(); when the step was skipped, all of it again at the scale that update() has left, at most `max_replays`
  /// times. The closure computes the loss of the batch, unscaled; a batch in parts may run `scale(part).backward()`
  /// itself and return the last part's loss. Each run draws the same random numbers; other side effects of the closure,
  /// such as running statistics, happen in each. Waits for the device once a run. A static scale makes no replays.
  /// Throws StateError without a closure, for negative `max_replays` and in the middle of an iteration.
  /// Source: flashlight's training loop (app/asr/Train.cpp).
  RunStepResult run_step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure,
                         int64_t max_replays = 8);

  /// 1 / scale in this iteration, an f32 tensor of rank 0 on the scaler's device, not to be written; 1 when disabled.
  /// Waits for nothing: the way to unscale what no optimizer owns.
  Tensor inverse_scale();
  /// Tensors of a scaled loss, such as autograd::grad's for a penalty, divided by the scale: t * inverse_scale(), in at
  /// least f32, recorded when gradients are. Not looked through for inf and NaN. Undefined tensors stay undefined.
  /// Throws DTypeError for tensors that are not floating.
  std::vector<Tensor> unscale(const std::vector<Tensor>& scaled);
  Tensor unscale(const Tensor& scaled);

  /// Adapts the scale to what the steps since the last update found, and starts a new iteration.
  void update();
  /// Sets the scale instead: a positive number within the limits, or an f32 tensor of one element. Throws StateError
  /// for others, but does not wait for a device to look at a tensor's value; DeviceError for a tensor on another device
  /// than the scale's and the CPU.
  void update(double new_scale);
  void update(const Tensor& new_scale);

  /// The scale now; waits for the device. init_scale before the first scale(); 1 when disabled.
  double get_scale() const;
  /// The scale where it lives, which costs no wait: f32 of one element on the device, changed in place by update().
  /// Undefined before the first scale() and when disabled.
  const Tensor& scale_tensor() const { return scale_; }
  /// Clean steps since the scale last changed; waits for the device.
  int64_t get_growth_tracker() const;
  double get_growth_factor() const { return options_.growth_factor(); }
  double get_backoff_factor() const { return options_.backoff_factor(); }
  int64_t get_growth_interval() const { return options_.growth_interval(); }
  /// Setters take effect at the next update(); values outside their domains throw StateError.
  void set_growth_factor(double factor);
  void set_backoff_factor(double factor);
  void set_growth_interval(int64_t interval);
  bool is_enabled() const { return options_.enabled(); }
  /// Whether only update(new_scale) changes the scale.
  bool has_static_scale() const { return options_.static_scale(); }

  /// Everything that a bitwise resume needs; empty when disabled. PyTorch's keys: scale, growth_factor, backoff_factor,
  /// growth_interval, _growth_tracker; tandem's: hysteresis_tracker, consecutive_skips.
  ScalerState state_dict() const;
  /// Takes over a state; tandem's own keys may be missing. Throws StateError, and changes nothing, for an empty or
  /// incomplete dictionary, for values that no scaler of these options can reach, and in the middle of an iteration.
  /// Does nothing when disabled.
  void load_state_dict(const ScalerState& state) { prepare_load_state_dict(state)(); }
  /// The checks of load_state_dict; what it returns does the rest.
  StateCommit prepare_load_state_dict(const ScalerState& state);

 private:
  enum class Stage { Ready, Unscaled, Stepped };
  struct OptimizerRecord {
    Stage stage = Stage::Ready;
    Tensor found_inf;
  };

  void check_not_moved(const char* call) const;
  void check_loss(const Tensor& loss) const;
  void make_state(Device device);
  void check_scaled(const char* call) const;
  Stage stage_of(const optim::Optimizer& optimizer) const;
  /// Throws StateError when too many iterations in a row were skipped, as far as is known without a wait.
  void check_skips();
  /// Sends for the count of skipped iterations.
  void watch_skips();
  void set_rule(double growth_factor, double backoff_factor, int64_t growth_interval);
  /// An iteration lies within one capture of a CUDA graph, or outside of all: drops what is left of one that ended with
  /// its capture, and throws StateError for one that began before it.
  void check_iteration(const char* call);
  /// Whether this iteration has flags for the next update(). One that only was asked for its inverse scale has none.
  bool has_flags() const { return !records_.empty() || !other_found_infs_.empty(); }
  void check_between_iterations(const char* call);
  /// Moves the gradients that another optimizer has had unscaled in this iteration to the end; returns where they
  /// begin.
  std::vector<Tensor>::iterator put_unscaled_last(std::vector<Tensor>& grads);
  void unscale_now(const optim::Optimizer& optimizer, std::vector<Tensor> grads);
  void record(const optim::Optimizer& optimizer, Stage stage, const Tensor& found_inf, std::vector<Tensor> grads);
  void start_iteration();

  GradScalerOptions options_;
  // On the device, made by the first scale(): f32 scale, i32 trackers, one element each.
  Tensor scale_, growth_tracker_, hysteresis_tracker_, skips_;
  Tensor inverse_scale_;  // of this iteration; undefined until needed
  int64_t init_growth_tracker_ = 0, init_hysteresis_tracker_ = 0, init_skips_ = 0;
  // growth_factor, backoff_factor, growth_interval, for graphs; null once moved from.
  std::shared_ptr<std::array<double, 3>> rule_;
  std::shared_ptr<detail::SkipWatch> skip_watch_;  // null without max_consecutive_skips
  uint64_t capture_ = 0;                           // in which this iteration began; 0: outside
  // Of this iteration: the optimizers past Ready by Optimizer::id, their gradients, flags that belong to no optimizer.
  std::unordered_map<uint64_t, OptimizerRecord> records_;
  std::vector<Tensor> unscaled_;
  std::vector<Tensor> other_found_infs_;
};

}  // namespace tandem::amp
