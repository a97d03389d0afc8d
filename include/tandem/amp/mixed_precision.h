#pragma once
// Colossal-AI's modes by name, for a Booster. Source: Colossal-AI, colossalai/booster/mixed_precision.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/opt_level.h"
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"

namespace tandem::amp {

/// How a Booster trains in mixed precision.
class MixedPrecision {
 public:
  virtual ~MixedPrecision() = default;
  /// "fp16", "fp16_apex", "fp16_naive", "bf16", each with its defaults. Throws NotImplementedError for "fp8",
  /// StateError for any other word.
  static std::shared_ptr<MixedPrecision> by_name(std::string_view name);
  virtual std::string name() const = 0;

  /// Changes model and optimizer in place, once each. Throws StateError for an optimizer that has a mode already.
  virtual void configure(nn::Module& model, optim::Optimizer& optimizer) = 0;
  /// What is put around a loss function; null: nothing.
  virtual std::shared_ptr<const nn::CallHook> criterion_hook() const { return nullptr; }
  /// Runs the loss backward, so that optimizer.step() can follow. Throws StateError for an optimizer that configure()
  /// has not seen.
  virtual void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) = 0;
  /// Divides the optimizer's gradients by the scale now, to look at or clip them before the step.
  virtual void unscale_(optim::Optimizer& optimizer) = 0;
  /// The optimizer's scale; 1 without scaling. Waits for the device.
  virtual double scale(const optim::Optimizer& optimizer) const = 0;
};

/// "fp16": PyTorch's AMP. The model and the loss run under autocast in f16; each optimizer has a GradScaler.
class FP16TorchMixedPrecision : public MixedPrecision {
 public:
  /// init_scale 65536, growth_factor 2, backoff_factor 0.5, growth_interval 2000.
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

/// "bf16": the same in bf16, whose range needs no scaling; what Colossal-AI's class of this name only announces.
class BF16MixedPrecision final : public FP16TorchMixedPrecision {
 public:
  BF16MixedPrecision() : FP16TorchMixedPrecision(GradScalerOptions().enabled(false), kBFloat16) {}
  std::string name() const override { return "bf16"; }
};

/// "fp16_apex": amp::initialize at a level, O1 by default. A Booster gives one loss to each optimizer, so num_losses
/// stays 1.
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

/// Options of the naive mode; Colossal-AI's defaults.
struct FP16NaiveOptions {
  /// Counts the zeros among the gradients of every step; num_zeros_in_grad() reads the count.
  TANDEM_ARG(bool, log_num_zeros_in_grad) = false;
  TANDEM_ARG(double, initial_scale) = 65536;
  TANDEM_ARG(double, growth_factor) = 2;
  TANDEM_ARG(double, backoff_factor) = 0.5;
  TANDEM_ARG(int64_t, growth_interval) = 1000;
  /// Overflows since the last growth before the scale backs off: Hysteresis::colossal.
  TANDEM_ARG(int64_t, hysteresis) = 2;
  TANDEM_ARG(double, min_scale) = 1;
  TANDEM_ARG(double, max_scale) = 4294967296.0;
  /// The model's outputs in f32.
  TANDEM_ARG(bool, output_to_fp32) = true;
  /// Prints overflows and changes of the scale, for which every step waits.
  TANDEM_ARG(bool, verbose) = false;
};

/// "fp16_naive": the whole model in f16, batch norm too, over f32 masters in the optimizer.
class FP16NaiveMixedPrecision final : public MixedPrecision {
 public:
  /// Throws StateError for options outside their domains.
  explicit FP16NaiveMixedPrecision(const FP16NaiveOptions& options = {});
  std::string name() const override { return "fp16_naive"; }
  void configure(nn::Module& model, optim::Optimizer& optimizer) override;
  void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) override;
  void unscale_(optim::Optimizer& optimizer) override;
  double scale(const optim::Optimizer& optimizer) const override;
  /// Zeros among the gradients of the optimizer's last step; waits for the device. Throws StateError without
  /// log_num_zeros_in_grad or before a step.
  int64_t num_zeros_in_grad(const optim::Optimizer& optimizer) const;

 private:
  FP16NaiveOptions options_;
};

}  // namespace tandem::amp
