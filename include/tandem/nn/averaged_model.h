#pragma once
// AveragedModel: running averages of a model's weights, for EMA and SWA. Source: torch.optim.swa_utils.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Options of AveragedModel: `AveragedModelOptions().ema_decay(0.999)`
class AveragedModelOptions {
 public:
  /// Returns the new average from the old one, the model's value and the number of values in the old one. Both
  /// are detached and of the average's dtype.
  using AvgFn = std::function<Tensor(const Tensor& averaged, const Tensor& value, int64_t n_averaged)>;

  /// Exponential moving averages: decay averaged + (1 - decay) value. If empty, all values have the same weight (SWA).
  TANDEM_ARG(std::optional<double>, ema_decay);
  /// Replaces both. Called for each tensor, while they are computed in one pass over all tensors.
  TANDEM_ARG(AvgFn, avg_fn);
  /// Averages floating buffers, too, such as the running statistics of batch norm. Otherwise they are copied from the
  /// model, as integer buffers always are.
  TANDEM_ARG(bool, use_buffers) = false;
};

/// Keeps the averages in a second instance of the model, since modules cannot be copied:
///
///   Net net, averaged;
///   nn::AveragedModel ema(*net, averaged.ptr(), nn::AveragedModelOptions().ema_decay(0.999));
///   ... scaler.step(sgd); scaler.update(); ema.update_parameters(*net);
///   averaged->eval(); averaged->forward(x);
///
/// The averaged instance may be on another device, and should be in f32 if the model is in f16 or bf16: averages in 16
/// bits lose small changes. A step that a GradScaler skipped is averaged again, as in PyTorch.
class AveragedModel {
 public:
  /// Copies the model's parameters and buffers to `averaged`, whose parameters then no longer require gradients. Throws
  /// StateError if `averaged` is null or the model itself, or has other parameters or buffers, for a decay outside
  /// [0, 1], and for both an avg_fn and a decay.
  AveragedModel(const Module& model, std::shared_ptr<Module> averaged, AveragedModelOptions options = {});

  /// Adds the model's present values to the averages; the first call copies them. In f32 (f64 for f64). Throws
  /// StateError if the model's parameters or buffers no longer fit, and, except for exponential averages after the
  /// first call, in the capture of a CUDA graph, which would repeat the weights of one update.
  void update_parameters(const Module& model);
  /// The number of updates.
  int64_t n_averaged() const { return n_averaged_; }
  const std::shared_ptr<Module>& module() const { return averaged_; }

  /// "n_averaged", and the averaged instance's state as "module.fc1.weight", ...
  StateDict state_dict() const;
  /// Throws StateError, and changes nothing, for a state that does not fit.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  std::shared_ptr<Module> averaged_;
  AveragedModelOptions options_;
  int64_t n_averaged_ = 0;
};

/// Recomputes the running statistics of all batch norms in `model`: resets them, calls run_batches(), which runs the
/// model's forward pass on the batches that they shall be the average of, in training mode and without recording
/// gradients, and restores modes and momenta. For averaged weights, whose activations differ from those of the model.
/// Source: torch.optim.swa_utils.update_bn.
///
///   nn::update_bn(*averaged, [&] { for (auto& batch : *loader) averaged->forward(batch.data); });
void update_bn(Module& model, const std::function<void()>& run_batches);

}  // namespace tandem::nn
#pragma GCC visibility pop
