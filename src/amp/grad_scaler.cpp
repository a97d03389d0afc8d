#include "tandem/amp/grad_scaler.h"

#include <cmath>

#include "tandem/amp/pending_unscale.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

void check_growth_factor(double f) {
  TANDEM_CHECK(std::isfinite(f) && f > 1, StateError, "GradScaler: growth_factor must be finite and above 1, not {}",
               f);
}
void check_backoff_factor(double f) {
  TANDEM_CHECK(f > 0 && f < 1, StateError, "GradScaler: backoff_factor must lie between 0 and 1, not {}", f);
}
void check_growth_interval(int64_t n) {
  TANDEM_CHECK(n >= 1, StateError, "GradScaler: growth_interval must be at least 1, not {}", n);
}
void check_scale(const char* what, double s) {
  TANDEM_CHECK(std::isnormal(static_cast<float>(s)) && s > 0, StateError,
               "GradScaler: {} must be a positive normal f32 number, not {}", what, s);
}

/// The optimizer's gradients that exist.
std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer) {
  std::vector<Tensor> grads;
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      if (p.grad().defined()) grads.push_back(p.grad());
    }
  }
  return grads;
}

void check_no_half(const optim::Optimizer& optimizer) {
  size_t number = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      TANDEM_CHECK(!p.grad().defined() || p.grad().dtype() != kHalf, DTypeError,
                   "unscale_: the gradient of parameter {} {} is f16, where unscaling would underflow; keep parameters "
                   "in f32 and let autocast cast them",
                   number, to_string(p.sizes()));
      ++number;
    }
  }
}

}  // namespace

bool StepResult::skipped() const { return found_inf_.defined() && found_inf_.item<float>() != 0; }

GradScaler::GradScaler(const GradScalerOptions& options) : options_(options) {
  if (!options.enabled()) return;
  check_scale("init_scale", options.init_scale());
  check_growth_factor(options.growth_factor());
  check_backoff_factor(options.backoff_factor());
  check_growth_interval(options.growth_interval());
  if (options.min_scale() != 0) check_scale("min_scale", options.min_scale());
  if (options.max_scale() != 0) check_scale("max_scale", options.max_scale());
  TANDEM_CHECK(options.max_scale() == 0 || options.min_scale() <= options.max_scale(), StateError,
               "GradScaler: min_scale {} is above max_scale {}", options.min_scale(), options.max_scale());
  const bool inside = options.init_scale() >= options.min_scale() &&
                      (options.max_scale() == 0 || options.init_scale() <= options.max_scale());
  TANDEM_CHECK(inside, StateError, "GradScaler: init_scale {} lies outside min_scale {} and max_scale {}",
               options.init_scale(), options.min_scale(), options.max_scale());
  TANDEM_CHECK(options.hysteresis() >= 1, StateError, "GradScaler: hysteresis must be at least 1, not {}",
               options.hysteresis());
  TANDEM_CHECK(options.max_consecutive_skips() >= 0, StateError,
               "GradScaler: max_consecutive_skips must not be negative, it is {}", options.max_consecutive_skips());
}

void GradScaler::make_state(Device device) {
  auto number = [device](double value, DType dtype) { return full({}, value, TensorOptions(dtype).device(device)); };
  scale_ = number(options_.init_scale(), kFloat);
  growth_tracker_ = number(static_cast<double>(init_growth_tracker_), kInt);
  hysteresis_tracker_ = number(static_cast<double>(init_hysteresis_tracker_), kInt);
  skips_ = number(static_cast<double>(init_skips_), kInt);
}

void GradScaler::check_scaled(const char* call) const {
  TANDEM_CHECK(scale_.defined(), StateError,
               "{}: the scaler has not scaled a loss yet; call scale(loss).backward() first in the iteration", call);
}

Tensor GradScaler::scale(const Tensor& loss) {
  TANDEM_CHECK(loss.defined(), StateError, "scale: the loss is an undefined tensor");
  if (!is_enabled()) return loss;
  TANDEM_CHECK(loss.is_floating_point(), DTypeError, "scale: the loss must be floating, it is {} {}",
               to_string(loss.sizes()), name(loss.dtype()));
  if (!scale_.defined()) make_state(loss.device());
  // In f32 whatever the loss: an f16 loss times 65536 would be inf.
  const Tensor wide = loss.dtype() == kDouble ? loss : loss.to(kFloat);
  return mul(wide, scale_.device() == loss.device() ? scale_ : scale_.to(loss.device(), true));
}

std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& losses) {
  std::vector<Tensor> scaled;
  for (const Tensor& loss : losses) scaled.push_back(scale(loss));
  return scaled;
}

const Tensor& GradScaler::inverse_scale() {
  if (!inverse_scale_.defined()) {
    inverse_scale_ = empty({}, scale_.options());
    backend(scale_).invert_scale(inverse_scale_, scale_);
  }
  return inverse_scale_;
}

void GradScaler::unscale_now(optim::Optimizer& optimizer, OptimizerRecord& record) {
  NoGradGuard no_grad;
  const std::vector<Tensor> grads = gradients_of(optimizer);
  record.found_inf = zeros({}, scale_.options());
  if (!grads.empty()) backend(scale_).unscale(grads, inverse_scale(), record.found_inf);
  for (const Tensor& g : grads) g.impl().storage->bump_version();
  record.stage = Stage::Unscaled;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  check_scaled("unscale_");
  OptimizerRecord& record = record_of(optimizer);
  TANDEM_CHECK(record.stage != Stage::Unscaled, StateError,
               "unscale_: already called for this optimizer since the last update(); call it once per iteration");
  TANDEM_CHECK(record.stage != Stage::Stepped, StateError,
               "unscale_: called after step(); call it before step(), or call update() to start a new iteration");
  check_no_half(optimizer);
  unscale_now(optimizer, record);
}

void GradScaler::check_skips() const {
  if (options_.max_consecutive_skips() == 0) return;
  const int64_t skips = skips_.item<int64_t>();
  TANDEM_CHECK(skips <= options_.max_consecutive_skips(), StateError,
               "step: {} iterations in a row were skipped for inf or NaN gradients (the limit is {}); the scale is {}. "
               "The loss or the network itself overflows: look for the first non-finite value in the forward pass",
               skips, options_.max_consecutive_skips(), get_scale());
}

StepResult GradScaler::step(optim::Optimizer& optimizer) {
  if (!is_enabled()) {
    optimizer.step();
    return StepResult();
  }
  check_scaled("step");
  check_skips();
  OptimizerRecord& record = record_of(optimizer);
  TANDEM_CHECK(record.stage != Stage::Stepped, StateError,
               "step: already called for this optimizer since the last update(); call update() once per iteration");
  if (!optimizer.supports_amp_scaling()) {
    if (record.stage == Stage::Ready) {
      check_no_half(optimizer);
      unscale_now(optimizer, record);
    }
    StepResult result(record.found_inf);
    if (!result.skipped()) optimizer.step();
    record.stage = Stage::Stepped;
    return result;
  }
  if (record.stage == Stage::Unscaled) {
    optimizer.step(StepScaling{.inverse_scale = {}, .found_inf = record.found_inf});
  } else {
    // The gradients are read twice and written never: once to check, once by the step, which unscales as it reads.
    const std::vector<Tensor> grads = gradients_of(optimizer);
    record.found_inf = zeros({}, scale_.options());
    if (!grads.empty()) backend(scale_).check_finite(grads, inverse_scale(), record.found_inf);
    optimizer.step(StepScaling{.inverse_scale = inverse_scale(), .found_inf = record.found_inf});
    detail::postpone_unscale(grads, inverse_scale());
  }
  record.stage = Stage::Stepped;
  return StepResult(record.found_inf);
}

StepResult GradScaler::step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure) {
  TANDEM_CHECK(!is_enabled() || !closure, StateError,
               "step: a closure evaluates the loss again, unscaled; step without one, or disable the scaler");
  if (is_enabled()) return step(optimizer);
  optimizer.step(closure);
  return StepResult();
}

void GradScaler::start_iteration() {
  records_.clear();
  inverse_scale_ = Tensor();
}

void GradScaler::update() {
  if (!is_enabled()) return;
  check_scaled("update");
  ScaleUpdateCall call;
  for (const auto& [id, record] : records_) {
    if (!record.found_inf.defined()) continue;
    call.found_infs.push_back(
        record.found_inf.device() == scale_.device() ? record.found_inf : record.found_inf.to(scale_.device(), true));
  }
  TANDEM_CHECK(!call.found_infs.empty(), StateError,
               "update: no optimizer was stepped or unscaled since the last update(); call step(optimizer) first");
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
  // A loss that was scaled and not yet run backward has saved the scale: its backward must see the old one or say so.
  backend(scale_).update_scale(call);
  scale_.impl().storage->bump_version();
  start_iteration();
}

void GradScaler::update(double new_scale) {
  if (!is_enabled()) return;
  check_scaled("update");
  check_scale("new_scale", new_scale);
  scale_.fill_(new_scale);
  start_iteration();
}

void GradScaler::update(const Tensor& new_scale) {
  if (!is_enabled()) return;
  check_scaled("update");
  TANDEM_CHECK(
      new_scale.defined() && new_scale.numel() == 1 && new_scale.dtype() == kFloat && !new_scale.requires_grad(),
      StateError, "update: new_scale must be an f32 tensor of one element that does not require grad");
  NoGradGuard no_grad;
  scale_.copy_(new_scale.reshape({}));
  start_iteration();
}

double GradScaler::get_scale() const {
  if (!is_enabled()) return 1.0;
  return scale_.defined() ? scale_.item<float>() : options_.init_scale();
}

int64_t GradScaler::get_growth_tracker() const {
  return growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : init_growth_tracker_;
}

void GradScaler::set_growth_factor(double factor) {
  check_growth_factor(factor);
  options_.growth_factor(factor);
}
void GradScaler::set_backoff_factor(double factor) {
  check_backoff_factor(factor);
  options_.backoff_factor(factor);
}
void GradScaler::set_growth_interval(int64_t interval) {
  check_growth_interval(interval);
  options_.growth_interval(interval);
}

std::map<std::string, Scalar> GradScaler::state_dict() const {
  if (!is_enabled()) return {};
  return {{"scale", get_scale()},
          {"growth_factor", options_.growth_factor()},
          {"backoff_factor", options_.backoff_factor()},
          {"growth_interval", options_.growth_interval()},
          {"_growth_tracker", get_growth_tracker()},
          {"hysteresis_tracker",
           hysteresis_tracker_.defined() ? hysteresis_tracker_.item<int64_t>() : init_hysteresis_tracker_},
          {"consecutive_skips", skips_.defined() ? skips_.item<int64_t>() : init_skips_}};
}

void GradScaler::load_state_dict(const std::map<std::string, Scalar>& state) {
  if (!is_enabled()) return;
  TANDEM_CHECK(!state.empty(), StateError,
               "load_state_dict: the state is empty; was it saved from a disabled scaler? Then start with a fresh one");
  TANDEM_CHECK(records_.empty(), StateError,
               "load_state_dict: called in the middle of an iteration; call update() first");
  for (const char* key : {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    TANDEM_CHECK(state.contains(key), StateError, "load_state_dict: the key '{}' is missing", key);
  }
  auto number = [&](const char* key) { return state.at(key).to_double(); };
  auto integer = [&](const char* key) {
    const auto it = state.find(key);
    return it == state.end() ? int64_t{0} : it->second.to_int64();
  };
  check_scale("scale", number("scale"));
  check_growth_factor(number("growth_factor"));
  check_backoff_factor(number("backoff_factor"));
  check_growth_interval(integer("growth_interval"));
  options_.init_scale(number("scale"));
  options_.growth_factor(number("growth_factor"));
  options_.backoff_factor(number("backoff_factor"));
  options_.growth_interval(integer("growth_interval"));
  init_growth_tracker_ = integer("_growth_tracker");
  init_hysteresis_tracker_ = integer("hysteresis_tracker");
  init_skips_ = integer("consecutive_skips");
  if (scale_.defined()) make_state(scale_.device());
  inverse_scale_ = Tensor();
}

}  // namespace tandem::amp
