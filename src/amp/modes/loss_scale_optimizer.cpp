#include "tandem/amp/modes/loss_scale_optimizer.h"

#include "tandem/base/check.h"

namespace tandem::amp {
namespace {

GradScalerOptions scaler_options(const LossScaleOptimizerOptions& o) {
  const OpScope op("LossScaleOptimizer");
  const GradScalerOptions options = GradScalerOptions()
                                        .init_scale(o.loss_scale_factor().value_or(o.initial_scale()))
                                        .growth_interval(o.dynamic_growth_steps())
                                        .static_scale(o.loss_scale_factor().has_value());
  GradScaler checked(options);
  return options;
}

}  // namespace

LossScaleOptimizer::LossScaleOptimizer(optim::Optimizer& inner, const LossScaleOptimizerOptions& options)
    : inner_(inner), scaler_(scaler_options(options)) {
  const OpScope op("LossScaleOptimizer");
  TANDEM_CHECK(!inner.step_scaler(), StateError,
               "the optimizer already has a mode that scales; wrap a plain optimizer");
}

StepResult LossScaleOptimizer::step() {
  StepResult result = scaler_.step(inner_);
  scaler_.update();
  return result;
}

}  // namespace tandem::amp
