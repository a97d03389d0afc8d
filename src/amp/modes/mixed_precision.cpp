#include "tandem/amp/modes/mixed_precision.h"

#include <cstdio>

#include "src/amp/modes/apex_step_scaler.h"
#include "src/amp/modes/f32_masters.h"
#include "src/amp/scaler_state.h"
#include "tandem/amp/cast_hook.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"

namespace tandem::amp {
namespace {

/// Implements step() as the scaler's step and update.
class BoosterStepScaler final : public optim::StepScaler {
 public:
  BoosterStepScaler(const GradScalerOptions& options, bool counts_zeros, bool verbose)
      : scaler(options), counts_zeros(counts_zeros), verbose_(verbose) {}

  void step(optim::Optimizer& optimizer) override {
    if (counts_zeros) count_zeros(optimizer);
    const double before = verbose_ ? scaler.get_scale() : 0;
    const StepResult result = scaler.step(optimizer);
    scaler.update();
    if (!verbose_) return;
    const double after = scaler.get_scale();
    if (result.skipped()) std::printf("tandem: gradient overflow; the step is skipped\n");
    if (after != before) std::printf("tandem: the loss scale changed from %g to %g\n", before, after);
  }

  StateDict state_dict() override {
    StateDict state;
    add_below(state, kScaler, state_of(scaler));
    return state;
  }
  StateCommit prepare_load_state_dict(const StateDict& state) override {
    return prepare_state_below(scaler, state, kScaler);
  }

  GradScaler scaler;
  const bool counts_zeros;
  Tensor zeros;  // i64, one element, on the device; of the last step

 private:
  void count_zeros(const optim::Optimizer& optimizer) {
    NoGradGuard no_grad;
    zeros = Tensor();
    for (const Tensor& p : optimizer.parameters()) {
      if (!p.grad().defined()) continue;
      const Tensor count = sum(eq(p.grad().detach(), 0));
      zeros = zeros.defined() ? add(zeros, count) : count;
    }
  }

  static constexpr const char* kScaler = "loss_scaler0";  // initialize()'s name for the only scaler
  bool verbose_;
};

std::shared_ptr<BoosterStepScaler> booster_step_scaler_of(const optim::Optimizer& optimizer) {
  const OpScope op("Booster");
  auto step = std::dynamic_pointer_cast<BoosterStepScaler>(optimizer.step_scaler());
  TANDEM_CHECK(step, StateError, "this optimizer has not been boosted in this mode; pass it to boost() first");
  return step;
}

void attach(optim::Optimizer& optimizer, const GradScalerOptions& options, bool counts_zeros = false,
            bool verbose = false) {
  TANDEM_CHECK(!optimizer.step_scaler(), StateError,
               "the optimizer already has a mode; boost or initialize each optimizer once");
  optimizer.set_step_scaler(std::make_shared<BoosterStepScaler>(options, counts_zeros, verbose));
}

void run_backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) {
  booster_step_scaler_of(optimizer)->scaler.scale(loss).backward({}, retain_graph);
}

GradScalerOptions naive_scaler(const FP16NaiveOptions& o) {
  return GradScalerOptions()
      .init_scale(o.initial_scale())
      .growth_factor(o.growth_factor())
      .backoff_factor(o.backoff_factor())
      .growth_interval(o.growth_interval())
      .min_scale(o.min_scale())
      .max_scale(o.max_scale())
      .hysteresis(o.hysteresis())
      .hysteresis_rule(Hysteresis::colossal);
}

}  // namespace

std::shared_ptr<MixedPrecision> MixedPrecision::by_name(std::string_view name) {
  const OpScope op("MixedPrecision");
  if (name == "fp16") return std::make_shared<FP16TorchMixedPrecision>();
  if (name == "fp16_apex") return std::make_shared<FP16ApexMixedPrecision>();
  if (name == "fp16_naive") return std::make_shared<FP16NaiveMixedPrecision>();
  if (name == "bf16") return std::make_shared<BF16MixedPrecision>();
  if (name == "fp8") return std::make_shared<FP8MixedPrecision>();
  TANDEM_THROW(StateError, "\"{}\" is not a mode; use \"fp16\", \"fp16_apex\", \"fp16_naive\", \"bf16\" or \"fp8\"",
               name);
}

FP16TorchMixedPrecision::FP16TorchMixedPrecision(const GradScalerOptions& options)
    : FP16TorchMixedPrecision(options, kHalf) {}

FP16TorchMixedPrecision::FP16TorchMixedPrecision(const GradScalerOptions& options, DType low)
    : options_(options), low_(low) {
  GradScaler checked(options);
}

void FP16TorchMixedPrecision::configure(nn::Module& model, optim::Optimizer& optimizer) {
  const OpScope op("Booster");
  attach(optimizer, options_);
  model.set_call_hook(criterion_hook());
}

std::shared_ptr<const nn::CallHook> FP16TorchMixedPrecision::criterion_hook() const {
  return std::make_shared<CastHook>(CastHookOptions{{}, {}, true, low_});
}

void FP16TorchMixedPrecision::backward(const Tensor& loss, optim::Optimizer& optimizer,
                                       std::optional<bool> retain_graph) {
  run_backward(loss, optimizer, retain_graph);
}

void FP16TorchMixedPrecision::unscale_(optim::Optimizer& optimizer) {
  booster_step_scaler_of(optimizer)->scaler.unscale_(optimizer);
}

double FP16TorchMixedPrecision::scale(const optim::Optimizer& optimizer) const {
  return booster_step_scaler_of(optimizer)->scaler.get_scale();
}

FP8MixedPrecision::FP8MixedPrecision(const Fp8Recipe& recipe)
    : FP16TorchMixedPrecision(GradScalerOptions().enabled(false), kBFloat16), recipe_(recipe) {}

void FP8MixedPrecision::configure(nn::Module& model, optim::Optimizer& optimizer) {
  FP16TorchMixedPrecision::configure(model, optimizer);
  CastHookOptions region{{}, {}, true, kBFloat16};
  region.fp8 = recipe_;
  model.set_call_hook(std::make_shared<CastHook>(region));
}

void FP16ApexMixedPrecision::configure(nn::Module& model, optim::Optimizer& optimizer) {
  initialize(model, optimizer, level_, options_);
}

void FP16ApexMixedPrecision::backward(const Tensor& loss, optim::Optimizer& optimizer,
                                      std::optional<bool> retain_graph) {
  ScaledLoss scaled = scale_loss(loss, optimizer);
  scaled.backward(retain_graph);
  scaled.finish();
}

void FP16ApexMixedPrecision::unscale_(optim::Optimizer& optimizer) {
  const OpScope op("unscale_");
  apex_step_scaler_of(optimizer);  // backward() has already unscaled
}

double FP16ApexMixedPrecision::scale(const optim::Optimizer& optimizer) const {
  const OpScope op("scale");
  return apex_step_scaler_of(optimizer)->scalers()[0].get_scale();
}

FP16NaiveMixedPrecision::FP16NaiveMixedPrecision(const FP16NaiveOptions& options) : options_(options) {
  GradScaler checked(naive_scaler(options));
}

void FP16NaiveMixedPrecision::configure(nn::Module& model, optim::Optimizer& optimizer) {
  const OpScope op("Booster");
  NoGradGuard no_grad;
  TANDEM_CHECK(optimizer.supports_master_weights(), NotImplementedError,
               "the optimizer does not support master weights; use one of tandem's optimizers except LBFGS");
  attach(optimizer, naive_scaler(options_), options_.log_num_zeros_in_grad(), options_.verbose());
  cast_to_masters({&optimizer}, [&] { model.to(kHalf); });
  CastHookOptions casts{kHalf, {}, {}, kHalf};
  if (options_.output_to_fp32()) casts.outputs = kFloat;
  model.set_call_hook(std::make_shared<CastHook>(casts));
}

void FP16NaiveMixedPrecision::backward(const Tensor& loss, optim::Optimizer& optimizer,
                                       std::optional<bool> retain_graph) {
  run_backward(loss, optimizer, retain_graph);
}

void FP16NaiveMixedPrecision::unscale_(optim::Optimizer& optimizer) {
  booster_step_scaler_of(optimizer)->scaler.unscale_(optimizer);
}

double FP16NaiveMixedPrecision::scale(const optim::Optimizer& optimizer) const {
  return booster_step_scaler_of(optimizer)->scaler.get_scale();
}

int64_t FP16NaiveMixedPrecision::num_zeros_in_grad(const optim::Optimizer& optimizer) const {
  const OpScope op("num_zeros_in_grad");
  const auto step = booster_step_scaler_of(optimizer);
  TANDEM_CHECK(step->counts_zeros, StateError,
               "zeros were not counted; set log_num_zeros_in_grad in the mode's options");
  TANDEM_CHECK(step->zeros.defined(), StateError, "no step with gradients has run yet; call step() first");
  return step->zeros.item<int64_t>();
}

}  // namespace tandem::amp
