// The calls of an iteration: scale, unscale_, step and update. The options and the state are in grad_scaler_state.cpp,
// whole iterations in run_step.cpp.
#include "tandem/amp/grad_scaler.h"

#include <algorithm>
#include <mutex>

#include "src/amp/optimizer_gradients.h"
#include "src/amp/skip_watch.h"
#include "tandem/amp/pending_unscale.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"
#include "tandem/distributed/process_group.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

Tensor on_device(const Tensor& t, Device device) { return t.device() == device ? t : t.to(device, true); }

}  // namespace

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
  const autograd::LossScalePtr now = current();
  const Tensor scaled = mul(wide, on_device(now->factor, loss.device()));
  // backward() passes it to the leaves. A fixed scale of 1 changes no gradient.
  if (const auto node = scaled.grad_fn(); node && !is_always_one()) node->loss_scale = now;
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

autograd::LossScalePtr GradScaler::current() {
  static std::mutex mutex;  // several threads may scale losses of one model
  const std::lock_guard lock(mutex);
  const uint64_t capture = current_capture_id();
  if (current_ && current_capture_ == capture) return current_;
  // Memory that the graph of a capture writes is not used again by other iterations, nor the reverse.
  if (current_) earlier_.reset();
  std::shared_ptr<autograd::LossScale> made = std::move(earlier_);
  const bool is_free = made && current_capture_ == capture && made.use_count() == 1 &&
                       autograd::is_solely_owned(made->factor) && autograd::is_solely_owned(made->inverse);
  if (!is_free) {
    made = std::make_shared<autograd::LossScale>(autograd::LossScale::Kind::scaled);
    made->factor = empty({}, scale_.options());
    made->inverse = empty({}, scale_.options());
    made->source = scale_;
  }
  backend(scale_).copy_scale(made->factor, made->inverse, scale_);
  current_ = std::move(made);
  current_capture_ = capture;
  return current_;
}

Tensor GradScaler::inverse_scale() {
  const OpScope op("inverse_scale");
  if (!is_enabled()) return ones({}, kFloat);
  check_scaled();
  return current()->inverse;
}

Tensor GradScaler::unscale(const Tensor& scaled) {
  const OpScope op("unscale");
  if (!scaled.defined() || !is_enabled()) return scaled;
  check_scaled();
  checks::floating("the tensor", scaled);
  return mul(is_reduced_floating_point(scaled.dtype()) ? scaled.to(kFloat) : scaled,
             on_device(current()->inverse, scaled.device()));
}

std::vector<Tensor> GradScaler::unscale(const std::vector<Tensor>& scaled) {
  const OpScope op("unscale");
  std::vector<Tensor> unscaled;
  unscaled.reserve(scaled.size());
  for (const Tensor& t : scaled) unscaled.push_back(unscale(t));
  return unscaled;
}

GradScaler::OptimizerRecord* GradScaler::record_of(const optim::Optimizer& optimizer) {
  const auto record =
      std::find_if(records_.begin(), records_.end(), [&](const OptimizerRecord& r) { return r.id == optimizer.id(); });
  return record == records_.end() ? nullptr : &*record;
}

GradientContext GradScaler::context(bool is_unscaled) {
  GradientContext context{scale_.device(), current(), is_always_one(), is_unscaled, {}};
  for (const UnscaledGradient& u : unscaled_) {
    const std::shared_ptr<Storage> storage = u.storage.lock();
    // The latest in each place.
    if (storage) context.places[{reinterpret_cast<uintptr_t>(storage.get()), u.offset, u.numel, u.dtype}] = u.version;
  }
  return context;
}

void GradScaler::reserve(size_t gradients) {
  records_.reserve(records_.size() + 1);
  unscaled_.reserve(unscaled_.size() + gradients);
}

void GradScaler::note(const std::vector<Tensor>& grads) noexcept {
  for (const Tensor& g : grads) {
    const std::shared_ptr<Storage>& storage = g.impl().storage;
    const auto [address, offset, numel, dtype] = place_of(g);
    unscaled_.push_back({storage, offset, numel, dtype, storage->version()});
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

void GradScaler::divide(const SortedGradients& sorted, const Tensor& found_inf) {
  size_t count = sorted.unscaled.size();
  for (const auto& group : sorted.scaled) count += group.grads.size();
  reserve(count);
  if (!sorted.unscaled.empty()) backend(scale_).check_finite(sorted.unscaled, Tensor(), found_inf);
  note(sorted.unscaled);  // by another scaler, perhaps: the program may change them and step again
  for (const auto& [scale, grads] : sorted.scaled) {
    backend(scale_).unscale(grads, on_device(scale->inverse, scale_.device()), found_inf);
    for (const Tensor& g : grads) autograd::bump_version_of_gradient(g);
    note(grads);  // now, in case the next group fails
    for (const Tensor& g : grads) autograd::note_scale(g, autograd::LossScale::unscaled());
  }
}

Tensor GradScaler::unscale_now(const optim::Optimizer& optimizer, Tensor found_inf) {
  NoGradGuard no_grad;
  const bool again = found_inf.defined();
  if (again && !has_scaled(optimizer)) {  // the usual case
    const std::vector<Tensor> grads = gradients_of(optimizer);
    reserve(grads.size());
    note(grads);  // the program may have replaced some since unscale_()
    note_unscaled(optimizer);
    agree(found_inf);
    return found_inf;
  }
  if (!again) widen_gradients(optimizer);
  SortedGradients sorted = sort_gradients(optimizer, context(again), true);
  if (!again) found_inf = zeros({}, scale_.options());
  divide(sorted, found_inf);
  note_unscaled(optimizer);
  agree(found_inf);
  return found_inf;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  const OpScope op("unscale_");
  if (!is_enabled()) return;
  check_scaled();
  check_iteration();
  if (const OptimizerRecord* record = record_of(optimizer)) {
    TANDEM_CHECK(record->stage != Stage::Unscaled, StateError,
                 "already called for this optimizer since the last update(); call it once per iteration");
    TANDEM_THROW(StateError, "called after step(); call it before step(), or call update() to start a new iteration");
  }
  const Tensor found_inf = unscale_now(optimizer, {});
  records_.push_back({optimizer.id(), Stage::Unscaled, found_inf});
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
  // A tensor that the program has written again since an earlier call is divided again.
  divide(sort_gradients(grads, {scale_.device(), current(), is_always_one(), false, {}}), found_inf);
  for (const Tensor& g : grads) autograd::note_scale(g, autograd::LossScale::unscaled());
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
  const bool begun = has_flags();
  const uint64_t capture = current_capture_id();
  if (begun && capture_ == capture) return;
  TANDEM_CHECK(!begun || capture_ != 0, StateError,
               "the capture of a CUDA graph began in the middle of an iteration; call update() before the capture");
  if (begun) start_iteration();
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
  const OptimizerRecord* record = record_of(optimizer);
  TANDEM_CHECK(!record || record->stage != Stage::Stepped, StateError,
               "already called for this optimizer since the last update(); call update() once per iteration");
  const bool fused = optimizer.steps_fused();
  if (!record && fused && !unscaling_rounds(optimizer)) {
    if (std::optional<StepResult> result = step_on_scaled(optimizer)) return *std::move(result);
  }
  const Tensor found_inf = unscale_now(optimizer, record ? record->found_inf : Tensor());
  if (!record) records_.push_back({optimizer.id(), Stage::Unscaled, found_inf});
  StepResult result(found_inf);
  if (fused) {
    optimizer.step(FusedUnscale{.inverse_scale = {}, .found_inf = found_inf});
  } else if (!result.skipped()) {
    optimizer.step();
  }
  if (OptimizerRecord* now = record_of(optimizer)) now->stage = Stage::Stepped;
  return result;
}

std::optional<StepResult> GradScaler::step_on_scaled(optim::Optimizer& optimizer) {
  SortedGradients sorted = sort_gradients(optimizer, context(false), false);
  if (sorted.scaled.size() > 1 || !sorted.unscaled.empty()) return {};
  // The gradients are read twice and not written: once by the check, once by the step, which unscales as it reads.
  const std::vector<Tensor> grads = sorted.scaled.empty() ? std::vector<Tensor>() : std::move(sorted.scaled[0].grads);
  if (detail::must_unscale_first(grads)) return {};
  const Tensor inverse =
      on_device(sorted.scaled.empty() ? current()->inverse : sorted.scaled[0].scale->inverse, scale_.device());
  reserve(grads.size());
  const Tensor found_inf = zeros({}, scale_.options());
  if (!grads.empty()) backend(scale_).check_finite(grads, inverse, found_inf);
  agree(found_inf);
  StepResult result(found_inf);
  detail::PostponedUnscale unscale(grads, inverse);
  optimizer.step(FusedUnscale{.inverse_scale = inverse, .found_inf = found_inf});
  unscale.start();
  note(grads);
  note_unscaled(optimizer);
  records_.push_back({optimizer.id(), Stage::Stepped, found_inf});
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

void GradScaler::end_scale() noexcept {
  if (current_) earlier_ = std::move(current_);
}

void GradScaler::start_iteration() noexcept {
  records_.clear();
  unscaled_.clear();
  other_found_infs_.clear();
  end_scale();
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
  for (const OptimizerRecord& record : records_) count(record.found_inf);
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
  backend(scale_).update_scale(call);
  scale_.impl().storage->bump_version();
  start_iteration();
  watch_skips();
}

}  // namespace tandem::amp
