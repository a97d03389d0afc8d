#include "tandem/amp/grad_scaler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "src/amp/modes/for_each_parameter.h"
#include "src/amp/skip_watch.h"
#include "tandem/amp/pending_unscale.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/capture.h"
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
void check_limits(const char* what, double s, const GradScalerOptions& options) {
  TANDEM_CHECK(s >= options.min_scale() && (options.max_scale() == 0 || s <= options.max_scale()), StateError,
               "GradScaler: {} {} lies outside min_scale {} and max_scale {}; change one of them", what, s,
               options.min_scale(), options.max_scale());
}

/// The memory that a gradient occupies. Gradients in the same place are unscaled once, even if they are different
/// tensors or views.
auto place_of(const Tensor& g) {
  return std::make_tuple(reinterpret_cast<uintptr_t>(g.impl().storage.get()), g.storage_offset(), g.numel(), g.dtype());
}
bool by_place(const Tensor& a, const Tensor& b) { return place_of(a) < place_of(b); }

/// Accepts the first gradient in each place and rejects later ones.
class FirstOfItsPlace {
 public:
  bool operator()(const Tensor& g) {
    const bool may_be_shared = g.impl_ptr().use_count() > 1 || g.impl().storage.use_count() > 1;
    return !may_be_shared || seen_.insert(place_of(g)).second;
  }

 private:
  std::set<decltype(place_of(Tensor()))> seen_;
};

/// The optimizer's defined gradients, each once. `writes`: the caller unscales them in place, so f16 gradients are
/// refused. `device`: the scaler's device.
std::vector<Tensor> gradients_of(const char* call, const optim::Optimizer& optimizer, bool writes, Device device) {
  std::vector<Tensor> grads;
  FirstOfItsPlace is_first;
  size_t number = 0;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    ++number;
    if (!g.defined()) return;
    TANDEM_CHECK(g.is_floating_point(), DTypeError,
                 "{}: the gradient of parameter {} {} is {}; gradients must be floating: drop it with zero_grad()",
                 call, number - 1, to_string(p.sizes()), name(g.dtype()));
    TANDEM_CHECK(!writes || g.dtype() != kHalf, DTypeError,
                 "{}: the gradient of parameter {} {} is f16, where unscaling would underflow; keep parameters in f32 "
                 "and let autocast cast them",
                 call, number - 1, to_string(p.sizes()));
    TANDEM_CHECK(g.device().type() == device.type(), DeviceError,
                 "{}: the gradient of parameter {} {} is on {}, but the scaler's state is on {}, where its first loss "
                 "was; use a scaler for each type of device",
                 call, number - 1, to_string(p.sizes()), g.device().str(), device.str());
    checks::not_expanded(call, "the gradient of parameter", g, number - 1);
    if (is_first(g)) grads.push_back(g);
  });
  return grads;
}

/// Whether unscale_() would round: it leaves values in the gradient's dtype, whereas a fused step multiplies in its
/// compute dtype. f16 gradients always take the fused step: unscale_() refuses them, or widens them if the parameters
/// have masters.
bool unscaling_rounds(const optim::Optimizer& optimizer) {
  const bool has_masters = optimizer.master_weights() != optim::MasterWeights::none;
  bool rounds = false, has_f16 = false;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    if (!g.defined() || (has_masters && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype()))) {
      return;
    }
    has_f16 |= g.dtype() == kHalf;
    rounds |= g.dtype() != (p.dtype() == kDouble ? kDouble : kFloat);
  });
  return rounds && !has_f16;
}

/// Replaces f16 and bf16 gradients of parameters with f32 masters by f32 ones, which can be unscaled.
void widen_gradients(const optim::Optimizer& optimizer) {
  if (optimizer.master_weights() == optim::MasterWeights::none) return;
  for_each_parameter(optimizer, [](const Tensor& p) {
    Tensor& g = p.mutable_grad();
    if (g.defined() && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype())) {
      g = to(g.detach(), kFloat);
    }
  });
}

/// An integer entry of the state; 0 if it is missing. Counters are i32 on the device.
int64_t counter_of(const ScalerState& state, const char* key, double least, double most = 0x7fffffff) {
  const auto it = state.find(key);
  if (it == state.end()) return 0;
  const double value = it->second.to_double();
  TANDEM_CHECK(value == std::floor(value) && value >= least && value <= most, StateError,
               "GradScaler: {} must be a whole number from {} to {}, not {}", key, least, most, value);
  return static_cast<int64_t>(value);
}

}  // namespace

bool StepResult::skipped() const { return found_inf_.defined() && found_inf_.item<float>() != 0; }

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), rule_(std::make_shared<std::array<double, 3>>()) {
  if (!options.enabled()) return;
  check_scale("init_scale", options.init_scale());
  check_growth_factor(options.growth_factor());
  check_backoff_factor(options.backoff_factor());
  check_growth_interval(options.growth_interval());
  if (options.min_scale() != 0) check_scale("min_scale", options.min_scale());
  if (options.max_scale() != 0) check_scale("max_scale", options.max_scale());
  TANDEM_CHECK(options.max_scale() == 0 || options.min_scale() <= options.max_scale(), StateError,
               "GradScaler: min_scale {} is above max_scale {}; swap them", options.min_scale(), options.max_scale());
  check_limits("init_scale", options.init_scale(), options);
  TANDEM_CHECK(options.hysteresis() >= 1, StateError, "GradScaler: hysteresis must be at least 1, not {}",
               options.hysteresis());
  TANDEM_CHECK(options.max_consecutive_skips() >= 0, StateError,
               "GradScaler: max_consecutive_skips must be at least 0 (0: no limit), not {}",
               options.max_consecutive_skips());
  if (options.max_consecutive_skips() > 0) {
    skip_watch_ = std::make_shared<detail::SkipWatch>(options.max_consecutive_skips());
  }
  set_rule(options.growth_factor(), options.backoff_factor(), options.growth_interval());
}

void GradScaler::check_not_moved(const char* call) const {
  TANDEM_CHECK(rule_, StateError,
               "{}: this scaler was moved from; use the one that it was moved to, or assign a new one", call);
}

void GradScaler::set_rule(double growth_factor, double backoff_factor, int64_t growth_interval) {
  options_.growth_factor(growth_factor).backoff_factor(backoff_factor).growth_interval(growth_interval);
  *rule_ = {growth_factor, backoff_factor, static_cast<double>(growth_interval)};
}

void GradScaler::make_state(Device device) {
  if (device.is_cuda()) {
    check_not_capturing("the first loss makes the scaler's state, which is impossible",
                        "run a few steps before the capture", "scale");
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

void GradScaler::check_scaled(const char* call) const {
  TANDEM_CHECK(scale_.defined(), StateError,
               "{}: the scaler has not scaled a loss yet; call scale(loss).backward() first in the iteration", call);
}

void GradScaler::check_loss(const Tensor& loss) const {
  check_not_moved("scale");
  checks::defined("scale", "the loss", loss);
  if (is_enabled()) checks::floating("scale", "the loss", loss);
}

Tensor GradScaler::scale(const Tensor& loss) {
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
  // The first loss determines the device of the state, so all losses are checked first.
  for (const Tensor& loss : losses) check_loss(loss);
  std::vector<Tensor> scaled;
  for (const Tensor& loss : losses) scaled.push_back(scale(loss));
  return scaled;
}

Tensor GradScaler::inverse_scale() {
  if (!is_enabled()) return ones({});
  check_scaled("inverse_scale");
  if (!inverse_scale_.defined()) {
    inverse_scale_ = empty({}, scale_.options());
    backend(scale_).invert_scale(inverse_scale_, scale_);
  }
  return inverse_scale_;
}

Tensor GradScaler::unscale(const Tensor& scaled) {
  if (!scaled.defined() || !is_enabled()) return scaled;
  check_scaled("unscale");
  checks::floating("unscale", "the tensor", scaled);
  const Tensor factor = inverse_scale();
  return mul(is_reduced_floating_point(scaled.dtype()) ? scaled.to(kFloat) : scaled,
             factor.device() == scaled.device() ? factor : factor.to(scaled.device(), true));
}

std::vector<Tensor> GradScaler::unscale(const std::vector<Tensor>& scaled) {
  std::vector<Tensor> unscaled;
  unscaled.reserve(scaled.size());
  for (const Tensor& t : scaled) unscaled.push_back(unscale(t));
  return unscaled;
}

GradScaler::Stage GradScaler::stage_of(const optim::Optimizer& optimizer) const {
  const auto record = records_.find(optimizer.id());
  return record == records_.end() ? Stage::Ready : record->second.stage;
}

std::vector<Tensor>::iterator GradScaler::put_unscaled_last(std::vector<Tensor>& grads) {
  if (unscaled_.empty()) return grads.end();
  std::sort(unscaled_.begin(), unscaled_.end(), by_place);
  return std::partition(grads.begin(), grads.end(), [this](const Tensor& g) {
    return !std::binary_search(unscaled_.begin(), unscaled_.end(), g, by_place);
  });
}

void GradScaler::record(const optim::Optimizer& optimizer, Stage stage, const Tensor& found_inf,
                        std::vector<Tensor> grads) {
  records_[optimizer.id()] = {stage, found_inf};
  unscaled_.insert(unscaled_.end(), std::make_move_iterator(grads.begin()), std::make_move_iterator(grads.end()));
}

void GradScaler::unscale_now(const optim::Optimizer& optimizer, std::vector<Tensor> grads) {
  NoGradGuard no_grad;
  const Tensor found_inf = zeros({}, scale_.options());
  const auto shared = put_unscaled_last(grads);
  if (shared != grads.end()) backend(scale_).check_finite({shared, grads.end()}, Tensor(), found_inf);
  grads.erase(shared, grads.end());
  if (!grads.empty()) backend(scale_).unscale(grads, inverse_scale(), found_inf);
  for (const Tensor& g : grads) g.impl().storage->bump_version();
  record(optimizer, Stage::Unscaled, found_inf, std::move(grads));
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  check_scaled("unscale_");
  check_iteration("unscale_");
  const Stage stage = stage_of(optimizer);
  TANDEM_CHECK(stage != Stage::Unscaled, StateError,
               "unscale_: already called for this optimizer since the last update(); call it once per iteration");
  TANDEM_CHECK(stage != Stage::Stepped, StateError,
               "unscale_: called after step(); call it before step(), or call update() to start a new iteration");
  widen_gradients(optimizer);
  unscale_now(optimizer, gradients_of("unscale_", optimizer, true, scale_.device()));
}

Tensor GradScaler::unscale_(const std::vector<Tensor>& grads) {
  const WholeOpScope op("unscale_");
  if (!is_enabled()) return zeros({});
  check_scaled("unscale_");
  for (size_t i = 0; i < grads.size(); ++i) {
    checks::defined_at("unscale_", i, grads[i]);
    checks::floating("unscale_", "a gradient", grads[i]);
    TANDEM_CHECK(
        grads[i].device().type() == scale_.device().type(), DeviceError,
        "unscale_: tensor {} {} is on {}, but the scaler's state is on {}; use a scaler for each type of device", i,
        checks::show(grads[i]), grads[i].device().str(), scale_.device().str());
  }
  check_iteration("unscale_");
  NoGradGuard no_grad;
  const Tensor found_inf = zeros({}, scale_.options());
  std::vector<Tensor> once;
  FirstOfItsPlace is_first;
  for (const Tensor& g : grads) {
    if (is_first(g)) once.push_back(g);
  }
  if (!once.empty()) backend(scale_).unscale(once, inverse_scale(), found_inf);
  for (const Tensor& g : once) g.impl().storage->bump_version();
  other_found_infs_.push_back(found_inf);
  return found_inf;
}

void GradScaler::record_found_inf(const Tensor& found_inf) {
  const WholeOpScope op("record_found_inf");
  if (!is_enabled()) return;
  checks::defined("record_found_inf", "the flag", found_inf);
  TANDEM_CHECK(found_inf.numel() == 1 && found_inf.dtype() == kFloat, StateError,
               "record_found_inf: the flag is {}; it must be f32 of one element", checks::show(found_inf));
  check_iteration("record_found_inf");
  other_found_infs_.push_back(found_inf);
}

void GradScaler::check_iteration(const char* call) {
  const bool begun = has_flags() || inverse_scale_.defined();
  const uint64_t capture = current_capture_id();
  if (begun && capture_ == capture) return;
  TANDEM_CHECK(!begun || capture_ != 0, StateError,
               "{}: the capture of a CUDA graph began in the middle of an iteration; call update() before it", call);
  start_iteration();
  capture_ = capture;
}

void GradScaler::check_between_iterations(const char* call) {
  check_iteration(call);
  TANDEM_CHECK(!has_flags(), StateError, "{}: called in the middle of an iteration; call update() first", call);
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
  if (!is_enabled()) {
    optimizer.step();
    return StepResult();
  }
  check_scaled("step");
  check_iteration("step");
  check_skips();
  TANDEM_CHECK(stage_of(optimizer) != Stage::Stepped, StateError,
               "step: already called for this optimizer since the last update(); call update() once per iteration");
  const bool fused = optimizer.steps_fused();
  if (stage_of(optimizer) == Stage::Ready) {
    std::vector<Tensor> grads = gradients_of("step", optimizer, false, scale_.device());
    if (fused && put_unscaled_last(grads) == grads.end() && !unscaling_rounds(optimizer)) {
      // The gradients are read twice and not written: once by the check, once by the step, which unscales as it reads.
      const Tensor found_inf = zeros({}, scale_.options());
      if (!grads.empty()) backend(scale_).check_finite(grads, inverse_scale(), found_inf);
      optimizer.step(FusedUnscale{.inverse_scale = inverse_scale(), .found_inf = found_inf});
      detail::postpone_unscale(grads, inverse_scale());
      record(optimizer, Stage::Stepped, found_inf, std::move(grads));
      return StepResult(found_inf);
    }
    widen_gradients(optimizer);
    unscale_now(optimizer, gradients_of("step", optimizer, true, scale_.device()));
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
  TANDEM_CHECK(!is_enabled() || !closure, StateError,
               "step: a closure evaluates the loss again, unscaled; step without one, or disable the scaler");
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
  if (!is_enabled()) return;
  check_scaled("update");
  check_iteration("update");
  ScaleUpdateCall call;
  const auto count = [&](const Tensor& found_inf) {
    call.found_infs.push_back(found_inf.device() == scale_.device() ? found_inf : found_inf.to(scale_.device(), true));
  };
  for (const auto& [id, record] : records_) count(record.found_inf);
  for (const Tensor& found_inf : other_found_infs_) count(found_inf);
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

void GradScaler::update(double new_scale) {
  if (!is_enabled()) return;
  const WholeOpScope op("update");
  check_scaled("update");
  check_scale("new_scale", new_scale);
  check_limits("new_scale", new_scale, options_);
  scale_.fill_(new_scale);
  start_iteration();
}

void GradScaler::update(const Tensor& new_scale) {
  if (!is_enabled()) return;
  const WholeOpScope op("update");
  check_scaled("update");
  checks::defined("update", "new_scale", new_scale);
  TANDEM_CHECK(
      new_scale.numel() == 1 && new_scale.dtype() == kFloat && !new_scale.requires_grad(), StateError,
      "update: new_scale is {}{}, but must be an f32 tensor of one element that does not require grad; convert "
      "it with .to(kFloat), detach() it, or pass a number",
      checks::show(new_scale), new_scale.requires_grad() ? " and requires grad" : "");
  const bool on_cpu = new_scale.device().is_cpu();
  TANDEM_CHECK(on_cpu || new_scale.device() == scale_.device(), DeviceError,
               "update: new_scale is on {}, but the scaler's state is on {}; move it with .to(device)",
               new_scale.device().str(), scale_.device().str());
  if (on_cpu) return update(new_scale.item<double>());  // reading a device tensor would synchronise
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
  const WholeOpScope op("set_growth_factor");
  check_not_moved("set_growth_factor");
  check_growth_factor(factor);
  set_rule(factor, get_backoff_factor(), get_growth_interval());
}
void GradScaler::set_backoff_factor(double factor) {
  const WholeOpScope op("set_backoff_factor");
  check_not_moved("set_backoff_factor");
  check_backoff_factor(factor);
  set_rule(get_growth_factor(), factor, get_growth_interval());
}
void GradScaler::set_growth_interval(int64_t interval) {
  const WholeOpScope op("set_growth_interval");
  check_not_moved("set_growth_interval");
  check_growth_interval(interval);
  set_rule(get_growth_factor(), get_backoff_factor(), interval);
}

ScalerState GradScaler::state_dict() const {
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
  check_not_moved("load_state_dict");
  if (!is_enabled()) return [] {};
  const WholeOpScope op("load_state_dict");
  TANDEM_CHECK(!state.empty(), StateError,
               "load_state_dict: the state is empty; was it saved from a disabled scaler? Then start with a fresh one");
  check_between_iterations("load_state_dict");
  for (const char* key : {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    TANDEM_CHECK(state.contains(key), StateError, "load_state_dict: the key '{}' is missing; give a whole state_dict()",
                 key);
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
    set_rule(growth, backoff, interval);
    init_growth_tracker_ = tracker;
    init_hysteresis_tracker_ = hysteresis;
    init_skips_ = skips;
    if (scale_.defined()) make_state(scale_.device());
    inverse_scale_ = Tensor();
  };
}

}  // namespace tandem::amp
