#pragma once
// GradScaler: dynamic loss scaling, like torch.amp.GradScaler. The scale, its growth tracker and the found_inf flags
// stay on the device, so that a training step does not wait for them.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/autograd/loss_scale.h"
#include "tandem/backend.h"
#include "tandem/base/arg.h"
#include "tandem/optim/optimizer.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::distributed {
class ProcessGroup;
}

namespace tandem::amp {

struct GradientContext;
struct SortedGradients;

namespace detail {
class SkipWatch;
}

/// The rule by which overflows lower the scale ("back off") if `hysteresis` > 1. Three systems define hysteresis
/// differently:
/// - megatron: overflows are counted. From the `hysteresis`-th on, each backs off. A clean step resets the count.
///   Source: Apex, update_scale_hysteresis.cu.
/// - colossal: overflows are counted. From the `hysteresis`-th on, each backs off. Only a growth of the scale resets
///   the count. Source: Colossal-AI, DynamicGradScaler.
/// - paddle: every `hysteresis`-th overflow in a row backs off. A clean step resets the count. Source: Paddle,
///   decr_every_n_nan_or_inf.
using Hysteresis = HysteresisRule;

/// The state of a GradScaler: numbers by name, with PyTorch's names.
using ScalerState = std::unordered_map<std::string, Scalar>;

/// Options of a GradScaler: `GradScalerOptions().init_scale(1024).growth_interval(100)`. Defaults are PyTorch's;
/// options that PyTorch does not have are off.
struct GradScalerOptions {
  TANDEM_ARG(double, init_scale) = 65536.0;     ///< initial scale
  TANDEM_ARG(double, growth_factor) = 2.0;      ///< > 1
  TANDEM_ARG(double, backoff_factor) = 0.5;     ///< in (0, 1)
  TANDEM_ARG(int64_t, growth_interval) = 2000;  ///< clean steps in a row before the scale grows
  TANDEM_ARG(bool, enabled) = true;             ///< false: no scaling and no skipping
  TANDEM_ARG(double, min_scale) = 0.0;          ///< lower limit of the scale; 0: none
  TANDEM_ARG(double, max_scale) = 0.0;          ///< upper limit of the scale; 0: none
  TANDEM_ARG(int64_t, hysteresis) = 1;          ///< see Hysteresis
  TANDEM_ARG(Hysteresis, hysteresis_rule) = Hysteresis::megatron;
  TANDEM_ARG(bool, static_scale) = false;  ///< the scale stays init_scale; steps with inf or NaN are still skipped
  TANDEM_ARG(int64_t, max_consecutive_skips) = 0;  ///< more skips in a row throw StateError; 0: no limit
};

/// The result of GradScaler::step. Only skipped() waits for the device.
class StepResult {
 public:
  /// True if the gradients contained inf or NaN and the parameters were not changed. Waits for the device.
  bool skipped() const;
  /// The flag, without waiting: an f32 tensor of one element on the device, not 0 after a skip. Undefined if the scaler
  /// is disabled.
  const Tensor& found_inf() const { return found_inf_; }

 private:
  friend class GradScaler;
  explicit StepResult(Tensor found_inf = {}) : found_inf_(std::move(found_inf)) {}
  Tensor found_inf_;  // not reused by later iterations
};

/// The result of GradScaler::run_step.
struct RunStepResult {
  Tensor loss;           ///< loss of the last run of the batch, unscaled, without history
  int64_t replays = 0;   ///< number of times that the batch was run again
  bool skipped = false;  ///< true if the last run overflowed too, so that the parameters were not changed
};

/// Scales losses so that f16 gradients do not underflow, unscales gradients, skips steps with inf or NaN, and adapts
/// the scale.
///
///   scaler.scale(loss).backward();
///   scaler.unscale_(optimizer);        // only to inspect or clip gradients
///   scaler.step(optimizer);
///   scaler.update();                   // once per iteration, after all optimizers
///
/// Per optimizer and iteration, call scale, optionally unscale_, and step; then call update once. A gradient knows the
/// scale at which it was written (autograd/loss_scale.h), and is divided by that one. So calls in another order either
/// give the same step or throw StateError. One scaler can serve several optimizers; use a new one for each training
/// run. For differences from PyTorch see docs/differences.md.
class GradScaler {
 public:
  /// Throws StateError for options outside their domains.
  explicit GradScaler(const GradScalerOptions& options = {});
  // Not copyable: a copy would share the state on the device. To copy a state to a second scaler, use
  // load_state_dict().
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;
  GradScaler(GradScaler&&) = default;
  GradScaler& operator=(GradScaler&&) = default;

  /// Returns loss times scale, in f32 (f64 stays f64). The first call creates the scaler's state on the loss's device.
  /// Throws StateError for an undefined loss, DTypeError for one that is not floating. Returns the loss itself if
  /// disabled.
  Tensor scale(const Tensor& loss);
  std::vector<Tensor> scale(const std::vector<Tensor>& losses);

  /// Divides the optimizer's gradients by their scales in place, and checks them for inf and NaN before and after. A
  /// gradient that the program has assigned has the current scale. A gradient that several parameters or optimizers
  /// share is divided once. 16-bit gradients that were assigned to parameters with master weights are replaced by f32
  /// ones. Throws StateError for the gradient of a loss that was not scaled, DTypeError for other f16 gradients (keep
  /// such parameters in f32) and for gradients that are not floating, DeviceError for gradients on another device type
  /// than the scale.
  void unscale_(optim::Optimizer& optimizer);

  /// The same for plain tensors of any floating dtype, for gradients that no optimizer of this scaler uses. Those that
  /// are unscaled and have not been written since stay as they are. Returns the found_inf flag, an f32 tensor of one
  /// element that is not 0 if there was an inf or NaN. The next update() counts it.
  Tensor unscale_(const std::vector<Tensor>& grads);
  /// Makes the next update() count a found_inf flag, f32 of one element, that other code has computed.
  void record_found_inf(const Tensor& found_inf);

  /// Steps the optimizer with unscaled gradients, unless they contain inf or NaN. Throws as unscale_() does. If an
  /// allocation fails on the CPU, nothing has changed, and the call can be repeated. Does not wait for the device if
  /// Optimizer::steps_fused() is true, as for tandem's optimizers. Otherwise it waits for the flag and calls the
  /// optimizer's step() only if the gradients are finite. Afterwards `.grad` is unscaled, also after a skip. The
  /// resulting parameters are bit for bit those of unscale_() followed by step().
  StepResult step(optim::Optimizer& optimizer);
  /// Throws StateError for a closure if enabled, since the closure would compute an unscaled loss.
  StepResult step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure);

  /// Runs one whole iteration: zero_grad(), scale(closure()).backward(), step(), update(). If the step was skipped,
  /// repeats all of it at the new scale, at most `max_replays` times, so that an overflow does not lose the batch. The
  /// closure returns the unscaled loss of the batch. To process a batch in parts, it may call `scale(part).backward()`
  /// for all parts but the last and return the last part's loss. Each run draws the same random numbers; other side
  /// effects of the closure, such as updates of running statistics, happen in each run. Waits for the device once per
  /// run. A static scale is never replayed. Throws StateError without a closure, for negative `max_replays` and in the
  /// middle of an iteration.
  /// Source: flashlight's training loop (app/asr/Train.cpp).
  RunStepResult run_step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure,
                         int64_t max_replays = 8);

  /// Returns 1 / scale of this iteration: an f32 tensor of rank 0 on the scaler's device, which must not be written; 1
  /// if disabled. Does not wait for the device. For unscaling tensors that no optimizer owns.
  Tensor inverse_scale();
  /// Returns tensors divided by the scale: t * inverse_scale(), in at least f32, recorded if recording is on. For
  /// gradients of a scaled loss, such as those from autograd::grad for a gradient penalty. Does not check for inf and
  /// NaN. Undefined tensors stay undefined. Throws DTypeError for tensors that are not floating.
  std::vector<Tensor> unscale(const std::vector<Tensor>& scaled);
  Tensor unscale(const Tensor& scaled);

  /// Makes all ranks of `group` find an overflow if one of them does: each flag is combined over the ranks (MAX) before
  /// an optimizer steps. All ranks must then make the same calls of unscale_, record_found_inf and step, and start with
  /// the same scale; scale and skips stay equal. Needed only where gradients differ between ranks: without
  /// DistributedDataParallel, whose averages contain the inf or NaN of any rank, so that all ranks skip the step.
  /// Null switches it off.
  void set_process_group(std::shared_ptr<distributed::ProcessGroup> group);

  /// Adapts the scale to the found_inf flags since the last update, and starts a new iteration. Throws StateError if
  /// there are none. Changes nothing if an allocation fails.
  void update();
  /// Sets the scale instead of adapting it, to a positive number within the limits or to an f32 tensor of one element.
  /// Throws StateError for other arguments; the value of a tensor on the device is not checked, to avoid a wait. Throws
  /// DeviceError for a tensor on a device other than the scale's and the CPU.
  void update(double new_scale);
  void update(const Tensor& new_scale);

  /// The current scale. Waits for the device. Returns init_scale before the first scale(), and 1 if disabled.
  double get_scale() const;
  /// The scale, without waiting: an f32 tensor of one element on the device, which update() changes in place. Undefined
  /// before the first scale() and if disabled.
  const Tensor& scale_tensor() const { return scale_; }
  /// Number of clean steps since the last overflow or growth of the scale. Waits for the device.
  int64_t get_growth_tracker() const;
  double get_growth_factor() const { return options_.growth_factor(); }
  double get_backoff_factor() const { return options_.backoff_factor(); }
  int64_t get_growth_interval() const { return options_.growth_interval(); }
  /// The setters take effect at the next update(). They throw StateError for values outside their domains.
  void set_growth_factor(double factor);
  void set_backoff_factor(double factor);
  void set_growth_interval(int64_t interval);
  bool is_enabled() const { return options_.enabled(); }
  /// True if only update(new_scale) changes the scale.
  bool has_static_scale() const { return options_.static_scale(); }

  /// Returns all state that a bitwise resume needs; empty if disabled. PyTorch's keys: scale, growth_factor,
  /// backoff_factor, growth_interval, _growth_tracker. tandem's keys: hysteresis_tracker, consecutive_skips. Waits for
  /// the device.
  ScalerState state_dict() const;
  /// Loads a state; tandem's own keys may be missing. Throws StateError, and changes nothing, for an empty or
  /// incomplete dictionary, for values outside their domains or the limits of this scaler, and in the middle of an
  /// iteration. Does nothing if disabled.
  void load_state_dict(const ScalerState& state) { prepare_load_state_dict(state)(); }
  /// Checks a state as load_state_dict does, and returns a function that loads it.
  StateCommit prepare_load_state_dict(const ScalerState& state);

 private:
  enum class Stage { Ready, Unscaled, Stepped };
  struct OptimizerRecord {
    uint64_t id;  ///< Optimizer::id
    Stage stage;
    Tensor found_inf;
  };
  /// The memory of a gradient, which stays the same if the program gives the gradient other memory by set_data().
  struct UnscaledGradient {
    std::weak_ptr<Storage> storage;
    int64_t offset, numel;
    DType dtype;
    uint64_t version;  ///< after it was unscaled
  };

  void check_not_moved() const;
  /// Combines a flag over the ranks.
  void agree(const Tensor& found_inf) const;
  void check_loss(const Tensor& loss) const;
  void make_state(Device device);
  void check_scaled() const;
  /// The record of an optimizer past Stage::Ready, or null.
  OptimizerRecord* record_of(const optim::Optimizer& optimizer);
  /// Throws StateError if too many iterations in a row were skipped, as far as is known without waiting for the device.
  void check_skips();
  /// Starts an asynchronous read of the count of skipped iterations.
  void watch_skips();
  void set_rule(double growth_factor, double backoff_factor, int64_t growth_interval);
  /// The scale of this iteration.
  autograd::LossScalePtr current();
  /// An iteration must be entirely inside or entirely outside one capture of a CUDA graph. Discards an unfinished
  /// iteration of a capture that has ended, and throws StateError if an iteration began before the current capture.
  void check_iteration();
  /// True if this iteration has flags for the next update(). An inverse_scale() call alone produces none.
  bool has_flags() const { return !records_.empty() || !other_found_infs_.empty(); }
  void check_between_iterations();
  GradientContext context(bool is_unscaled);
  /// Divides gradients by their scales, and sets the flag if one of them or of the unscaled ones is not finite.
  void divide(const SortedGradients& sorted, const Tensor& found_inf);
  /// Unscales the optimizer's gradients and checks all of them. `found_inf` is the flag of an earlier call, if any.
  Tensor unscale_now(const optim::Optimizer& optimizer, Tensor found_inf);
  /// Makes room for a record and for gradients, so that adding them does not allocate.
  void reserve(size_t gradients);
  /// Notes that these gradients have been divided in this iteration. Needs the room of reserve().
  void note(const std::vector<Tensor>& grads) noexcept;
  /// Steps an optimizer that unscales as it reads, if all its gradients have one scale.
  std::optional<StepResult> step_on_scaled(optim::Optimizer& optimizer);
  /// The scale is about to change, or has changed.
  void end_scale() noexcept;
  bool is_always_one() const { return options_.static_scale() && options_.init_scale() == 1 && !is_scale_set_; }
  void start_iteration() noexcept;

  GradScalerOptions options_;
  // On the device, created by the first scale(): scale in f32, trackers in i32, one element each.
  Tensor scale_, growth_tracker_, hysteresis_tracker_, skips_;
  // The scale of this iteration and that of an earlier one, whose memory is used again if no gradient has it; null
  // until needed.
  std::shared_ptr<autograd::LossScale> current_, earlier_;
  uint64_t current_capture_ = 0;  // the capture in which current_ was made
  bool is_scale_set_ = false;     // by update(new_scale)
  int64_t init_growth_tracker_ = 0, init_hysteresis_tracker_ = 0, init_skips_ = 0;
  // growth_factor, backoff_factor, growth_interval, read by replays of CUDA graphs; null after a move.
  std::shared_ptr<std::array<double, 3>> rule_;
  std::shared_ptr<detail::SkipWatch> skip_watch_;  // null without max_consecutive_skips
  uint64_t capture_ = 0;                           // the capture in which this iteration began; 0: none
  // Of this iteration: records of optimizers past Stage::Ready, their gradients, flags without an optimizer.
  std::vector<OptimizerRecord> records_;
  std::vector<UnscaledGradient> unscaled_;
  std::vector<Tensor> other_found_infs_;
  std::shared_ptr<distributed::ProcessGroup> group_;  // null: this rank decides alone
};

}  // namespace tandem::amp
#pragma GCC visibility pop
