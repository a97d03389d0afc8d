#include "networks/experiment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <tandem/amp/fp8.h>

namespace networks {

std::shared_ptr<void> Experiment::autocast() const {
  const torch::DeviceType device = setting.device.type();
  if (setting.precision.starts_with("fp8_")) {
    return std::make_shared<torch::amp::Fp8AutocastGuard>(device, torch::amp::fp8_recipe(setting.precision.substr(4)));
  }
  return std::make_shared<torch::amp::AutocastGuard>(device, setting.dtype, setting.amp());
}

void Supervised::train(std::shared_ptr<torch::nn::Module> module, double lr, double weight_decay, double max_norm) {
  module_ = std::move(module);
  module_->to(setting.device);
  auto options = torch::optim::AdamWOptions(lr).weight_decay(weight_decay);
  if (setting.moments != "f32") {
    options.exp_avg_dtype(setting.moments == "fp8" ? torch::kFloat8_e4m3fn : torch::kBFloat16);
    options.exp_avg_sq_dtype(torch::kBFloat16);
  }
  optimizer_ = std::make_unique<torch::optim::AdamW>(module_->parameters(), options);
  const double steps = static_cast<double>(setting.steps), warm_up = std::max(1.0, 0.05 * steps);
  schedule_ = std::make_unique<torch::optim::LambdaLR>(*optimizer_, [=](int64_t step) {
    const double done = static_cast<double>(step) + 1;
    if (done < warm_up) return done / warm_up;
    return 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, (done - warm_up) / (steps - warm_up + 1))));
  });
  max_norm_ = max_norm;
}

torch::Tensor Supervised::step() {
  module_->train();
  optimizer_->zero_grad();
  torch::Tensor loss;
  {
    const auto region = autocast();
    loss = this->loss();
  }
  scaler.scale(loss).backward();
  if (max_norm_ > 0) {
    scaler.unscale_(*optimizer_);
    torch::nn::utils::clip_grad_norm_(module_->parameters(), max_norm_);
  }
  scaler.step(*optimizer_);
  scaler.update();
  schedule_->step();
  ++steps_;
  return loss;
}

int64_t Supervised::skipped_steps() {
  // Adam's own count excludes skipped steps.
  const auto& state = static_cast<const torch::optim::AdamWParamState&>(*optimizer_->state().begin()->second);
  return steps_ - static_cast<int64_t>(state.step().item<float>());
}

double Supervised::evaluate(int64_t count, const std::function<torch::Tensor(int64_t)>& value) {
  module_->eval();
  torch::NoGradGuard no_grad;
  const auto region = autocast();
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += value(i).item<double>();
  return sum / static_cast<double>(count);
}

}  // namespace networks
