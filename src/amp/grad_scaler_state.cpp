// The options and the state of a GradScaler: construction, setters, saving and loading.
#include <cmath>

#include "src/amp/skip_watch.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

void check_growth_factor(double f) {
  TANDEM_CHECK(std::isfinite(f) && f > 1, StateError, "growth_factor must be finite and above 1, not {}", f);
}
void check_backoff_factor(double f) {
  TANDEM_CHECK(f > 0 && f < 1, StateError, "backoff_factor must be between 0 and 1, not {}", f);
}
void check_growth_interval(int64_t n) {
  TANDEM_CHECK(n >= 1, StateError, "growth_interval must be at least 1, not {}", n);
}
void check_scale(const char* what, double s) {
  TANDEM_CHECK(std::isnormal(static_cast<float>(s)) && s > 0, StateError,
               "{} must be a positive normal f32 number, not {}", what, s);
}
void check_limits(const char* what, double s, const GradScalerOptions& options) {
  TANDEM_CHECK(s >= options.min_scale() && (options.max_scale() == 0 || s <= options.max_scale()), StateError,
               "{} {} is not between min_scale {} and max_scale {}; change one of them", what, s, options.min_scale(),
               options.max_scale());
}

/// An integer entry of the state; 0 if it is missing. Counters are i32 on the device.
int64_t counter_of(const ScalerState& state, const char* key, double least, double most = 0x7fffffff) {
  const auto it = state.find(key);
  if (it == state.end()) return 0;
  const double value = it->second.to_double();
  TANDEM_CHECK(value == std::floor(value) && value >= least && value <= most, StateError,
               "{} must be a whole number from {} to {}, not {}", key, least, most, value);
  return static_cast<int64_t>(value);
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), rule_(std::make_shared<std::array<double, 3>>()) {
  const OpScope op("GradScaler");
  if (!options.enabled()) return;
  check_scale("init_scale", options.init_scale());
  check_growth_factor(options.growth_factor());
  check_backoff_factor(options.backoff_factor());
  check_growth_interval(options.growth_interval());
  if (options.min_scale() != 0) check_scale("min_scale", options.min_scale());
  if (options.max_scale() != 0) check_scale("max_scale", options.max_scale());
  TANDEM_CHECK(options.max_scale() == 0 || options.min_scale() <= options.max_scale(), StateError,
               "min_scale {} is above max_scale {}; swap them", options.min_scale(), options.max_scale());
  check_limits("init_scale", options.init_scale(), options);
  TANDEM_CHECK(options.hysteresis() >= 1, StateError, "hysteresis must be at least 1, not {}", options.hysteresis());
  TANDEM_CHECK(options.max_consecutive_skips() >= 0, StateError,
               "max_consecutive_skips must be at least 0 (0: no limit), not {}", options.max_consecutive_skips());
  if (options.max_consecutive_skips() > 0) {
    skip_watch_ = std::make_shared<detail::SkipWatch>(options.max_consecutive_skips());
  }
  set_rule(options.growth_factor(), options.backoff_factor(), options.growth_interval());
}

void GradScaler::check_not_moved() const {
  TANDEM_CHECK(rule_, StateError,
               "this scaler was moved from; use the scaler that it was moved to, or assign a new one");
}

void GradScaler::set_rule(double growth_factor, double backoff_factor, int64_t growth_interval) {
  options_.growth_factor(growth_factor).backoff_factor(backoff_factor).growth_interval(growth_interval);
  *rule_ = {growth_factor, backoff_factor, static_cast<double>(growth_interval)};
}

void GradScaler::make_state(Device device) {
  if (device.is_cuda()) {
    check_not_capturing("creating the scaler's state with the first loss is impossible",
                        "run a few steps before the capture");
  }
  // Writes existing state in place: CUDA graphs refer to its address.
  auto set = [device](Tensor& t, double value, DType dtype) {
    if (!t.defined()) t = empty({}, TensorOptions(dtype).device(device));
    t.fill_(value);
  };
  set(scale_, options_.init_scale(), kFloat);
  set(growth_tracker_, static_cast<double>(init_growth_tracker_), kInt);
  set(hysteresis_tracker_, static_cast<double>(init_hysteresis_tracker_), kInt);
  set(skips_, static_cast<double>(init_skips_), kInt);
  if (!skip_watch_) return;
  skip_watch_->forget();
  watch_skips();
}

void GradScaler::update(double new_scale) {
  const OpScope op("update");
  if (!is_enabled()) return;
  check_scaled();
  check_scale("new_scale", new_scale);
  check_limits("new_scale", new_scale, options_);
  scale_.fill_(new_scale);
  is_scale_set_ = true;
  start_iteration();
}

void GradScaler::update(const Tensor& new_scale) {
  const OpScope op("update");
  if (!is_enabled()) return;
  check_scaled();
  checks::defined("new_scale", new_scale);
  TANDEM_CHECK(new_scale.numel() == 1 && new_scale.dtype() == kFloat && !new_scale.requires_grad(), StateError,
               "new_scale is {}{}, but must be an f32 tensor of one element that does not require grad; convert "
               "it with .to(kFloat), detach() it, or pass a number",
               checks::show(new_scale), new_scale.requires_grad() ? " and requires grad" : "");
  const bool on_cpu = new_scale.device().is_cpu();
  TANDEM_CHECK(on_cpu || new_scale.device() == scale_.device(), DeviceError,
               "new_scale is on {}, but the scaler's state is on {}; move it with .to(device)",
               new_scale.device().str(), scale_.device().str());
  if (on_cpu) return update(new_scale.item<double>());  // reading a device tensor would synchronise
  NoGradGuard no_grad;
  scale_.copy_(new_scale.reshape({}));
  is_scale_set_ = true;
  start_iteration();
}

double GradScaler::get_scale() const {
  const OpScope op("get_scale");
  if (!is_enabled()) return 1.0;
  return scale_.defined() ? scale_.item<float>() : options_.init_scale();
}

int64_t GradScaler::get_growth_tracker() const {
  const OpScope op("get_growth_tracker");
  return growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : init_growth_tracker_;
}

void GradScaler::set_growth_factor(double factor) {
  const OpScope op("set_growth_factor");
  check_not_moved();
  check_growth_factor(factor);
  set_rule(factor, get_backoff_factor(), get_growth_interval());
}
void GradScaler::set_backoff_factor(double factor) {
  const OpScope op("set_backoff_factor");
  check_not_moved();
  check_backoff_factor(factor);
  set_rule(get_growth_factor(), factor, get_growth_interval());
}
void GradScaler::set_growth_interval(int64_t interval) {
  const OpScope op("set_growth_interval");
  check_not_moved();
  check_growth_interval(interval);
  set_rule(get_growth_factor(), get_backoff_factor(), interval);
}

ScalerState GradScaler::state_dict() const {
  const OpScope op("state_dict");
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

StateCommit GradScaler::prepare_load_state_dict(const ScalerState& state) {
  const OpScope op("load_state_dict");
  check_not_moved();
  if (!is_enabled()) return [] {};
  TANDEM_CHECK(!state.empty(), StateError,
               "the state is empty; if it was saved from a disabled scaler, start with a fresh one");
  check_between_iterations();
  for (const char* key : {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    TANDEM_CHECK(state.contains(key), StateError, "the key '{}' is missing; pass a complete state_dict()", key);
  }
  const double scale = state.at("scale").to_double(), growth = state.at("growth_factor").to_double(),
               backoff = state.at("backoff_factor").to_double();
  check_scale("scale", scale);
  check_limits("scale", scale, options_);
  check_growth_factor(growth);
  check_backoff_factor(backoff);
  const int64_t interval = counter_of(state, "growth_interval", 1, 0x1p53),
                tracker = counter_of(state, "_growth_tracker", 0),
                hysteresis = counter_of(state, "hysteresis_tracker", 0),
                skips = counter_of(state, "consecutive_skips", 0);
  return [=, this] {
    options_.init_scale(scale);
    is_scale_set_ = false;
    set_rule(growth, backoff, interval);
    init_growth_tracker_ = tracker;
    init_hysteresis_tracker_ = hysteresis;
    init_skips_ = skips;
    if (scale_.defined()) make_state(scale_.device());
    end_scale();
  };
}

}  // namespace tandem::amp
