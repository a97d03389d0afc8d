#pragma once
// The mixed-precision modes of Booster. Source: Colossal-AI, colossalai/booster/mixed_precision.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tandem/amp/fp8/recipe.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/modes/opt_level.h"
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Base of the modes.
class MixedPrecision {
 public:
  virtual ~MixedPrecision() = default;
  /// Returns a mode with its defaults: "fp16", "fp16_apex", "fp16_naive", "bf16" or "fp8". Throws StateError for any
  /// other name.
  static std::shared_ptr<MixedPrecision> by_name(std::string_view name);
  virtual std::string name() const = 0;

  /// Applies the mode to model and optimizer, in place. Throws StateError for an optimizer that already has a mode.
  virtual void configure(nn::Module& model, optim::Optimizer& optimizer) = 0;
  /// The call hook for loss functions; null for none.
  virtual std::shared_ptr<const nn::CallHook> criterion_hook() const { return nullptr; }
  /// Runs backward from the loss, with its scale. optimizer.step() may follow. Throws StateError for an optimizer that
  /// was not passed to configure().
  virtual void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) = 0;
  /// Divides the optimizer's gradients by the scale, so that they can be inspected or clipped before the step.
  virtual void unscale_(optim::Optimizer& optimizer) = 0;
  /// The optimizer's loss scale; 1 without scaling. Waits for the device.
  virtual double scale(const optim::Optimizer& optimizer) const = 0;
};

/// "fp16": PyTorch's AMP. The model and the loss run under autocast in f16; each optimizer has a GradScaler.
class FP16TorchMixedPrecision : public MixedPrecision {
 public:
  /// Default options: init_scale 65536, growth_factor 2, backoff_factor 0.5, growth_interval 2000.
  explicit FP16TorchMixedPrecision(const GradScalerOptions& options = {});
  std::string name() const override { return "fp16"; }
  void configure(nn::Module& model, optim::Optimizer& optimizer) override;
  std::shared_ptr<const nn::CallHook> criterion_hook() const override;
  void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) override;
  void unscale_(optim::Optimizer& optimizer) override;
  double scale(const optim::Optimizer& optimizer) const override;

 protected:
  FP16TorchMixedPrecision(const GradScalerOptions& options, DType low);

 private:
  GradScalerOptions options_;
  DType low_;
};

/// "bf16": the same in bf16, whose range makes loss scaling unnecessary. In Colossal-AI this class is a stub.
class BF16MixedPrecision final : public FP16TorchMixedPrecision {
 public:
  BF16MixedPrecision() : FP16TorchMixedPrecision(GradScalerOptions().enabled(false), kBFloat16) {}
  std::string name() const override { return "bf16"; }
};

/// "fp8": the model runs in a region of float8 (amp/fp8/fp8_autocast.h), the loss under autocast in bf16, without loss
/// scaling. In Colossal-AI this class is a stub.
class FP8MixedPrecision final : public FP16TorchMixedPrecision {
 public:
  explicit FP8MixedPrecision(const Fp8Recipe& recipe = DelayedScaling());
  std::string name() const override { return "fp8"; }
  void configure(nn::Module& model, optim::Optimizer& optimizer) override;

 private:
  Fp8Recipe recipe_;
};

/// "fp16_apex": amp::initialize() with an optimization level. Booster has one loss per optimizer, so leave num_losses
/// at 1.
class FP16ApexMixedPrecision final : public MixedPrecision {
 public:
  explicit FP16ApexMixedPrecision(OptLevel level = OptLevel::O1, const InitializeOptions& options = {})
      : level_(level), options_(options) {}
  std::string name() const override { return "fp16_apex"; }
  void configure(nn::Module& model, optim::Optimizer& optimizer) override;
  void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) override;
  void unscale_(optim::Optimizer& optimizer) override;
  double scale(const optim::Optimizer& optimizer) const override;

 private:
  OptLevel level_;
  InitializeOptions options_;
};

/// Options of "fp16_naive", with Colossal-AI's defaults.
struct FP16NaiveOptions {
  /// Counts the zeros in the gradients at each step, for num_zeros_in_grad().
  TANDEM_ARG(bool, log_num_zeros_in_grad) = false;
  TANDEM_ARG(double, initial_scale) = 65536;
  TANDEM_ARG(double, growth_factor) = 2;
  TANDEM_ARG(double, backoff_factor) = 0.5;
  TANDEM_ARG(int64_t, growth_interval) = 1000;
  /// Number of overflows since the last growth at which the scale backs off, see Hysteresis::colossal.
  TANDEM_ARG(int64_t, hysteresis) = 2;
  TANDEM_ARG(double, min_scale) = 1;
  TANDEM_ARG(double, max_scale) = 4294967296.0;
  /// Casts the model's outputs to f32.
  TANDEM_ARG(bool, output_to_fp32) = true;
  /// Prints overflows and changes of the scale; every step then waits for the device.
  TANDEM_ARG(bool, verbose) = false;
};

/// "fp16_naive": the whole model in f16, batch norm included, with f32 master weights in the optimizer.
class FP16NaiveMixedPrecision final : public MixedPrecision {
 public:
  /// Throws StateError for options outside their domains.
  explicit FP16NaiveMixedPrecision(const FP16NaiveOptions& options = {});
  std::string name() const override { return "fp16_naive"; }
  void configure(nn::Module& model, optim::Optimizer& optimizer) override;
  void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) override;
  void unscale_(optim::Optimizer& optimizer) override;
  double scale(const optim::Optimizer& optimizer) const override;
  /// The number of zeros in the gradients of the optimizer's last step. Waits for the device. Throws StateError without
  /// log_num_zeros_in_grad or before the first step.
  int64_t num_zeros_in_grad(const optim::Optimizer& optimizer) const;

 private:
  FP16NaiveOptions options_;
};

}  // namespace tandem::amp
#pragma GCC visibility pop
