// The calls of an iteration: scale, unscale_, step and update. The options and the state are in grad_scaler_state.cpp,
// whole iterations in run_step.cpp.
#include "tandem/amp/grad_scaler.h"

#include <algorithm>
#include <map>

#include "src/amp/modes/for_each_parameter.h"
#include "src/amp/optimizer_gradients.h"
#include "src/amp/skip_watch.h"
#include "tandem/amp/pending_unscale.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"
#include "tandem/dist/process_group.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {

bool StepResult::skipped() const { return found_inf_.defined() && found_inf_.item<float>() != 0; }

void GradScaler::check_scaled() const {
  TANDEM_CHECK(scale_.defined(), StateError,
               "the scaler has not scaled a loss yet; call scale(loss).backward() first in the iteration");
}

void GradScaler::check_loss(const Tensor& loss) const {
  check_not_moved();
  checks::defined("the loss", loss);
  if (is_enabled()) checks::floating("the loss", loss);
}

Tensor GradScaler::scale(const Tensor& loss) {
  const OpScope op("scale");
  check_loss(loss);
  if (!is_enabled()) return loss;
  if (!scale_.defined()) make_state(loss.device());
  // Scaled in f32 for any low dtype: an f16 loss times 65536 would be inf.
  const Tensor wide = loss.dtype() == kDouble ? loss : loss.to(kFloat);
  const Tensor scaled = mul(wide, scale_.device() == loss.device() ? scale_ : scale_.to(loss.device(), true));
  // backward() marks the leaves whose gradients it scales. A fixed scale of 1 changes none.
  const bool is_one = options_.static_scale() && options_.init_scale() == 1;
  if (const auto node = scaled.grad_fn()) node->scales_loss = !is_one;
  return scaled;
}

std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& losses) {
  const OpScope op("scale");
  // The first loss determines the device of the state, so all losses are checked first.
  for (const Tensor& loss : losses) check_loss(loss);
  std::vector<Tensor> scaled;
  for (const Tensor& loss : losses) scaled.push_back(scale(loss));
  return scaled;
}

Tensor GradScaler::inverse_scale() {
  const OpScope op("inverse_scale");
  if (!is_enabled()) return ones({}, kFloat);
  check_scaled();
  if (!inverse_scale_.defined()) {
    inverse_scale_ = empty({}, scale_.options());
    backend(scale_).invert_scale(inverse_scale_, scale_);
  }
  return inverse_scale_;
}

Tensor GradScaler::unscale(const Tensor& scaled) {
  const OpScope op("unscale");
  if (!scaled.defined() || !is_enabled()) return scaled;
  check_scaled();
  checks::floating("the tensor", scaled);
  const Tensor factor = inverse_scale();
  return mul(is_reduced_floating_point(scaled.dtype()) ? scaled.to(kFloat) : scaled,
             factor.device() == scaled.device() ? factor : factor.to(scaled.device(), true));
}

std::vector<Tensor> GradScaler::unscale(const std::vector<Tensor>& scaled) {
  const OpScope op("unscale");
  std::vector<Tensor> unscaled;
  unscaled.reserve(scaled.size());
  for (const Tensor& t : scaled) unscaled.push_back(unscale(t));
  return unscaled;
}

GradScaler::Stage GradScaler::stage_of(const optim::Optimizer& optimizer) const {
  const auto record = records_.find(optimizer.id());
  return record == records_.end() ? Stage::Ready : record->second.stage;
}

std::vector<Tensor>::iterator GradScaler::put_unscaled_last(const optim::Optimizer& optimizer,
                                                            std::vector<Tensor>& grads) {
  if (unscaled_.empty()) return grads.end();
  std::map<GradientPlace, uint64_t> versions;  // the latest in each place
  for (const auto& [grad, version] : unscaled_) versions[place_of(grad)] = version;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    if (!p.grad().defined()) return;
    const auto unscaled = versions.find(place_of(p.grad()));
    if (unscaled != versions.end() && autograd::has_scaled_grad_since(p, unscaled->second)) versions.erase(unscaled);
  });
  return std::partition(grads.begin(), grads.end(), [&](const Tensor& g) { return !versions.contains(place_of(g)); });
}

void GradScaler::record(const optim::Optimizer& optimizer, Stage stage, const Tensor& found_inf,
                        std::vector<Tensor> grads) {
  records_[optimizer.id()] = {stage, found_inf};
  for (Tensor& g : grads) {
    const uint64_t version = g.impl().storage->version();
    unscaled_.push_back({std::move(g), version});
  }
}

void GradScaler::set_process_group(std::shared_ptr<distributed::ProcessGroup> group) {
  const OpScope op("set_process_group");
  check_not_moved();
  check_between_iterations();
  group_ = std::move(group);
}

void GradScaler::agree(const Tensor& found_inf) const {
  if (!group_) return;
  group_->all_reduce_async(found_inf, distributed::ReduceOp::MAX, "found_inf").wait();
}

void GradScaler::unscale_now(const optim::Optimizer& optimizer, std::vector<Tensor> grads) {
  NoGradGuard no_grad;
  const Tensor found_inf = zeros({}, scale_.options());
  const auto shared = put_unscaled_last(optimizer, grads);
  if (shared != grads.end()) backend(scale_).check_finite({shared, grads.end()}, Tensor(), found_inf);
  grads.erase(shared, grads.end());
  if (!grads.empty()) backend(scale_).unscale(grads, inverse_scale(), found_inf);
  for (const Tensor& g : grads) g.impl().storage->bump_version();
  agree(found_inf);
  record(optimizer, Stage::Unscaled, found_inf, std::move(grads));
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  const OpScope op("unscale_");
  if (!is_enabled()) return;
  check_scaled();
  check_iteration();
  const Stage stage = stage_of(optimizer);
  TANDEM_CHECK(stage != Stage::Unscaled, StateError,
               "already called for this optimizer since the last update(); call it once per iteration");
  TANDEM_CHECK(stage != Stage::Stepped, StateError,
               "called after step(); call it before step(), or call update() to start a new iteration");
  widen_gradients(optimizer);
  unscale_now(optimizer, gradients_of(optimizer, true, scale_.device()));
}

Tensor GradScaler::unscale_(const std::vector<Tensor>& grads) {
  const OpScope op("unscale_");
  if (!is_enabled()) return zeros({}, kFloat);
  check_scaled();
  for (size_t i = 0; i < grads.size(); ++i) {
    checks::defined_at(i, grads[i]);
    checks::floating("a gradient", grads[i]);
    TANDEM_CHECK(grads[i].device().type() == scale_.device().type(), DeviceError,
                 "tensor {} {} is on {}, but the scaler's state is on {}; use one scaler per device type", i,
                 checks::show(grads[i]), grads[i].device().str(), scale_.device().str());
  }
  check_iteration();
  NoGradGuard no_grad;
  const Tensor found_inf = zeros({}, scale_.options());
  std::vector<Tensor> once;
  FirstOfItsPlace is_first;
  for (const Tensor& g : grads) {
    if (is_first(g)) once.push_back(g);
  }
  if (!once.empty()) backend(scale_).unscale(once, inverse_scale(), found_inf);
  for (const Tensor& g : once) g.impl().storage->bump_version();
  agree(found_inf);
  other_found_infs_.push_back(found_inf);
  return found_inf;
}

void GradScaler::record_found_inf(const Tensor& found_inf) {
  const OpScope op("record_found_inf");
  if (!is_enabled()) return;
  checks::defined("the flag", found_inf);
  TANDEM_CHECK(found_inf.numel() == 1 && found_inf.dtype() == kFloat, StateError,
               "the flag is {}; it must be an f32 tensor of one element", checks::show(found_inf));
  check_iteration();
  // A copy: the caller's flag is not written.
  other_found_infs_.push_back(group_ ? found_inf.detach().clone() : found_inf);
  agree(other_found_infs_.back());
}

void GradScaler::check_iteration() {
  const bool begun = has_flags() || inverse_scale_.defined();
  const uint64_t capture = current_capture_id();
  if (begun && capture_ == capture) return;
  TANDEM_CHECK(!begun || capture_ != 0, StateError,
               "the capture of a CUDA graph began in the middle of an iteration; call update() before the capture");
  start_iteration();
  capture_ = capture;
}

void GradScaler::check_between_iterations() {
  check_iteration();
  TANDEM_CHECK(!has_flags(), StateError, "called in the middle of an iteration; call update() first");
}

void GradScaler::check_skips() {
  if (!skip_watch_) return;
  if (GraphCapture* capture = current_capture()) {
    capture->before_replay([watch = skip_watch_, scale = scale_] { watch->check(scale); });
  } else {
    skip_watch_->check(scale_);
  }
}

void GradScaler::watch_skips() {
  if (!skip_watch_) return;
  if (GraphCapture* capture = current_capture()) {
    capture->after_replay([watch = skip_watch_, skips = skips_] { watch->send_for(skips); });
  } else {
    skip_watch_->send_for(skips_);
  }
}

StepResult GradScaler::step(optim::Optimizer& optimizer) {
  const UserCodeScope op("step");
  if (!is_enabled()) {
    optimizer.step();
    return StepResult();
  }
  TANDEM_CHECK(
      !optimizer.needs_closure(), NotImplementedError,
      "this optimizer evaluates the loss in its step, unscaled; call its step(closure) without a scaler, in f32 "
      "or with bf16 autocast, which needs no loss scaling");
  check_scaled();
  check_iteration();
  check_skips();
  TANDEM_CHECK(stage_of(optimizer) != Stage::Stepped, StateError,
               "already called for this optimizer since the last update(); call update() once per iteration");
  const bool fused = optimizer.steps_fused();
  if (stage_of(optimizer) == Stage::Ready) {
    std::vector<Tensor> grads = gradients_of(optimizer, false, scale_.device());
    if (fused && put_unscaled_last(optimizer, grads) == grads.end() && !unscaling_rounds(optimizer)) {
      // The gradients are read twice and not written: once by the check, once by the step, which unscales as it reads.
      const Tensor found_inf = zeros({}, scale_.options());
      if (!grads.empty()) backend(scale_).check_finite(grads, inverse_scale(), found_inf);
      agree(found_inf);
      optimizer.step(FusedUnscale{.inverse_scale = inverse_scale(), .found_inf = found_inf});
      detail::postpone_unscale(grads, inverse_scale());
      record(optimizer, Stage::Stepped, found_inf, std::move(grads));
      return StepResult(found_inf);
    }
    widen_gradients(optimizer);
    unscale_now(optimizer, gradients_of(optimizer, true, scale_.device()));
  }
  OptimizerRecord& unscaled = records_[optimizer.id()];
  StepResult result(unscaled.found_inf);
  if (fused) {
    optimizer.step(FusedUnscale{.inverse_scale = {}, .found_inf = unscaled.found_inf});
  } else if (!result.skipped()) {
    optimizer.step();
  }
  unscaled.stage = Stage::Stepped;
  return result;
}

StepResult GradScaler::step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure) {
  const UserCodeScope op("step");
  TANDEM_CHECK(
      !is_enabled() || !closure, StateError,
      "a closure would evaluate the loss again, unscaled; call step() without a closure, or disable the scaler");
  if (is_enabled()) return step(optimizer);
  optimizer.step(closure);
  return StepResult();
}

void GradScaler::start_iteration() {
  records_.clear();
  unscaled_.clear();
  other_found_infs_.clear();
  inverse_scale_ = Tensor();
}

void GradScaler::update() {
  const OpScope op("update");
  if (!is_enabled()) return;
  check_scaled();
  check_iteration();
  ScaleUpdateCall call;
  const auto count = [&](const Tensor& found_inf) {
    call.found_infs.push_back(found_inf.device() == scale_.device() ? found_inf : found_inf.to(scale_.device(), true));
  };
  for (const auto& [id, record] : records_) count(record.found_inf);
  for (const Tensor& found_inf : other_found_infs_) count(found_inf);
  TANDEM_CHECK(!call.found_infs.empty(), StateError,
               "no optimizer was stepped or unscaled since the last update(); call step(optimizer) first");
  call.scale = scale_;
  call.growth_tracker = growth_tracker_;
  call.hysteresis_tracker = hysteresis_tracker_;
  call.skips = skips_;
  call.growth_factor = options_.growth_factor();
  call.backoff_factor = options_.backoff_factor();
  call.growth_interval = options_.growth_interval();
  call.min_scale = options_.min_scale();
  call.max_scale = options_.max_scale();
  call.hysteresis = options_.hysteresis();
  call.rule = options_.hysteresis_rule();
  call.dynamic = !options_.static_scale();
  if (GraphCapture* capture = current_capture()) {
    call.captured_rule = capture->numbers(3, [rule = rule_](double* to) { std::copy(rule->begin(), rule->end(), to); });
  }
  // The backward of a scaled loss that has not run yet has saved the scale. The version bump makes it fail rather than
  // use the new one.
  backend(scale_).update_scale(call);
  scale_.impl().storage->bump_version();
  watch_skips();
  start_iteration();
}

}  // namespace tandem::amp
