#pragma once
// torch::amp for programs that use libtorch: AutocastGuard and GradScaler, which libtorch has in Python only, made of
// the functions of ATen that Python's call. Needs this file and libtorch 2.4 or newer, nothing else of tandem; its
// license is MIT. tandem's own <torch/torch.h> has the same names, so one source builds with either library.
#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#ifndef TANDEM_TORCH_COMPAT
#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 4)
#error "tandem/libtorch_amp.h needs libtorch 2.4 or newer"
#endif

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torch::amp {

/// Within this scope, ops on this thread and on tensors of this device type cast their inputs as torch.autocast does in
/// Python. dtype: kHalf or kBFloat16; by default the thread's dtype for the device, f16 on CUDA and bf16 on the CPU.
/// cache_enabled: whether casts of weights are cached until the outermost region ends; inherited by default. Throws
/// c10::Error for another dtype. Without a CUDA device, a guard for CUDA warns once and has no effect.
class [[nodiscard]] AutocastGuard {
 public:
  explicit AutocastGuard(at::DeviceType type, std::optional<at::ScalarType> dtype = {}, bool enabled = true,
                         std::optional<bool> cache_enabled = {})
      : type_(type),
        was_enabled_(at::autocast::is_autocast_enabled(type)),
        previous_dtype_(at::autocast::get_autocast_dtype(type)),
        was_cache_enabled_(at::autocast::is_autocast_cache_enabled()) {
    const at::ScalarType low = dtype.value_or(previous_dtype_);
    TORCH_CHECK(!enabled || low == at::kHalf || low == at::kBFloat16, "AutocastGuard: the dtype is ", low,
                "; autocast computes in kHalf or kBFloat16");
    if (enabled && type == at::kCUDA && !torch::cuda::is_available()) {
      TORCH_WARN_ONCE("AutocastGuard: no CUDA device is available; the region has no effect");
      enabled = false;
    }
    at::autocast::set_autocast_enabled(type, enabled);
    if (enabled) at::autocast::set_autocast_dtype(type, low);
    at::autocast::set_autocast_cache_enabled(cache_enabled.value_or(was_cache_enabled_));
    at::autocast::increment_nesting();
  }
  ~AutocastGuard() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(type_, was_enabled_);
    at::autocast::set_autocast_dtype(type_, previous_dtype_);
    at::autocast::set_autocast_cache_enabled(was_cache_enabled_);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  at::DeviceType type_;
  bool was_enabled_;
  at::ScalarType previous_dtype_;
  bool was_cache_enabled_;
};

/// Options of a GradScaler, with Python's defaults.
struct GradScalerOptions {
  TORCH_ARG(double, init_scale) = 65536.0;     ///< initial scale
  TORCH_ARG(double, growth_factor) = 2.0;      ///< > 1
  TORCH_ARG(double, backoff_factor) = 0.5;     ///< in (0, 1)
  TORCH_ARG(int64_t, growth_interval) = 2000;  ///< clean steps in a row before the scale grows
  TORCH_ARG(bool, enabled) = true;             ///< false: no scaling and no skipping
};

/// The state of a GradScaler, with the names of Python's.
using ScalerState = std::unordered_map<std::string, at::Scalar>;

/// The result of GradScaler::step.
class StepResult {
 public:
  explicit StepResult(bool skipped = false) : skipped_(skipped) {}
  /// True if the gradients contained inf or NaN and the parameters were not changed.
  bool skipped() const { return skipped_; }

 private:
  bool skipped_;
};

/// Scales losses so that f16 gradients do not underflow, unscales gradients, skips steps with inf or NaN, and adapts
/// the scale, as torch.amp.GradScaler does in Python.
///
///   scaler.scale(loss).backward();
///   scaler.unscale_(optimizer);        // only to inspect or clip gradients
///   scaler.step(optimizer);
///   scaler.update();                   // once per iteration, after all optimizers
///
/// Calls in an order that is wrong whatever the gradients are throw c10::Error. The scaler does not know at which scale
/// a gradient was written: after a backward pass between unscale_() and step(), or over an update(), the step is wrong,
/// as in Python.
class GradScaler {
 public:
  /// Throws c10::Error for options outside their domains.
  explicit GradScaler(GradScalerOptions options = {}) : options_(std::move(options)) {
    check_options(options_);
    TORCH_CHECK(options_.init_scale() > 0 && std::isfinite(options_.init_scale()),
                "GradScaler: init_scale = ", options_.init_scale(), "; it must be positive and finite");
  }
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;
  GradScaler(GradScaler&&) = default;
  GradScaler& operator=(GradScaler&&) = default;

  /// Returns loss times scale, in f32, in which the product of an f16 loss does not overflow (f64 stays f64). The first
  /// call creates the scaler's state on the loss's device. Returns the loss itself if disabled.
  at::Tensor scale(const at::Tensor& loss) {
    TORCH_CHECK(loss.defined(), "scale: the loss is undefined");
    if (!is_enabled()) return loss;
    TORCH_CHECK(loss.is_floating_point(), "scale: the loss is ", loss.scalar_type(), "; it must be floating");
    if (!scale_.defined()) {
      const auto options = at::TensorOptions(loss.device()).dtype(at::kFloat);
      scale_ = at::full({}, options_.init_scale(), options);
      growth_tracker_ = at::full({}, init_growth_tracker_, options.dtype(at::kInt));
    }
    const at::Tensor wide = loss.scalar_type() == at::kDouble ? loss : loss.to(at::kFloat);
    return wide * scale_.to(loss.device(), /*non_blocking=*/true);
  }
  std::vector<at::Tensor> scale(const std::vector<at::Tensor>& losses) {
    std::vector<at::Tensor> scaled;
    for (const at::Tensor& loss : losses) scaled.push_back(scale(loss));
    return scaled;
  }

  /// Divides the optimizer's gradients by the scale in place and checks them for inf and NaN. Does not wait for the
  /// device. Throws c10::Error for f16 gradients (keep such parameters in f32).
  void unscale_(torch::optim::Optimizer& optimizer) {
    if (!is_enabled()) return;
    check_scaled("unscale_");
    if (const auto known = records_.find(&optimizer); known != records_.end()) {
      TORCH_CHECK(known->second.stage == Stage::stepped,
                  "unscale_: already called for this optimizer since the last update(); call it once per iteration");
      TORCH_CHECK(false, "unscale_: called after step(); call it before step(), or call update()");
    }
    std::vector<at::Tensor> found_infs = unscale_gradients(optimizer);
    records_[&optimizer] = {Stage::unscaled, std::move(found_infs)};
  }

  /// Steps the optimizer with unscaled gradients, unless they contain inf or NaN. Waits for the device: libtorch's
  /// optimizers cannot skip a step there.
  StepResult step(torch::optim::Optimizer& optimizer) {
    if (!is_enabled()) {
      optimizer.step();
      return StepResult();
    }
    check_scaled("step");
    const auto known = records_.find(&optimizer);
    TORCH_CHECK(known == records_.end() || known->second.stage != Stage::stepped,
                "step: already called for this optimizer since the last update(); call update() once per iteration");
    if (known == records_.end()) unscale_(optimizer);
    Record& record = records_[&optimizer];
    const bool skips = std::any_of(record.found_infs.begin(), record.found_infs.end(),
                                   [](const at::Tensor& found_inf) { return found_inf.item<float>() != 0; });
    if (!skips) optimizer.step();
    record.stage = Stage::stepped;
    return StepResult(skips);
  }
  /// Throws c10::Error for a closure if enabled, since the closure would compute an unscaled loss.
  StepResult step(torch::optim::Optimizer& optimizer, const torch::optim::Optimizer::LossClosure& closure) {
    TORCH_CHECK(!is_enabled() || !closure,
                "step: a closure would evaluate the loss again, unscaled; call step() without a closure");
    if (is_enabled()) return step(optimizer);
    optimizer.step(closure);
    return StepResult();
  }

  /// Adapts the scale to the inf and NaN found since the last update, and starts a new iteration.
  void update() {
    if (!is_enabled()) return;
    check_scaled("update");
    at::Tensor found_inf;
    for (const auto& [optimizer, record] : records_) {
      for (const at::Tensor& flag : record.found_infs) {
        const at::Tensor here = flag.to(scale_.device(), /*non_blocking=*/true);
        found_inf = found_inf.defined() ? found_inf + here : here;
      }
    }
    TORCH_CHECK(found_inf.defined(),
                "update: no optimizer was stepped or unscaled since the last update(); call step(optimizer) first");
    at::_amp_update_scale_(scale_, growth_tracker_, found_inf, options_.growth_factor(), options_.backoff_factor(),
                           options_.growth_interval());
    records_.clear();
  }
  /// Sets the scale instead of adapting it: to a positive finite number or to a tensor of one element.
  void update(double new_scale) {
    if (!is_enabled()) return;
    check_scaled("update");
    TORCH_CHECK(new_scale > 0 && std::isfinite(new_scale), "update: the scale would be ", new_scale,
                "; it must be positive and finite");
    scale_.fill_(new_scale);
    records_.clear();
  }
  void update(const at::Tensor& new_scale) {
    if (!is_enabled()) return;
    check_scaled("update");
    TORCH_CHECK(new_scale.defined() && new_scale.numel() == 1 && !new_scale.requires_grad(),
                "update: the scale must be a tensor of one element that does not require grad");
    scale_.copy_(new_scale.reshape({}));
    records_.clear();
  }

  /// The current scale. Waits for the device. Returns init_scale before the first scale(), and 1 if disabled.
  double get_scale() const {
    if (!is_enabled()) return 1;
    return scale_.defined() ? static_cast<double>(scale_.item<float>()) : options_.init_scale();
  }
  /// Number of clean steps since the last overflow or growth of the scale. Waits for the device.
  int64_t get_growth_tracker() const {
    return growth_tracker_.defined() ? growth_tracker_.item<int>() : init_growth_tracker_;
  }
  double get_growth_factor() const { return options_.growth_factor(); }
  double get_backoff_factor() const { return options_.backoff_factor(); }
  int64_t get_growth_interval() const { return options_.growth_interval(); }
  void set_growth_factor(double factor) { set(GradScalerOptions(options_).growth_factor(factor)); }
  void set_backoff_factor(double factor) { set(GradScalerOptions(options_).backoff_factor(factor)); }
  void set_growth_interval(int64_t interval) { set(GradScalerOptions(options_).growth_interval(interval)); }
  bool is_enabled() const { return options_.enabled(); }

  /// Python's state: scale, growth_factor, backoff_factor, growth_interval, _growth_tracker. Empty if disabled. Waits
  /// for the device.
  ScalerState state_dict() const {
    if (!is_enabled()) return {};
    return {{"scale", get_scale()},
            {"growth_factor", get_growth_factor()},
            {"backoff_factor", get_backoff_factor()},
            {"growth_interval", get_growth_interval()},
            {"_growth_tracker", get_growth_tracker()}};
  }
  /// Throws c10::Error, and changes nothing, for an incomplete state, for values outside their domains, and in the
  /// middle of an iteration. Does nothing if disabled.
  void load_state_dict(const ScalerState& state) {
    if (!is_enabled()) return;
    TORCH_CHECK(records_.empty(), "load_state_dict: called in the middle of an iteration; call update() first");
    const auto number = [&](const char* name) {
      const auto found = state.find(name);
      TORCH_CHECK(found != state.end(), "load_state_dict: the state has no '", name,
                  "'; it may be that of a disabled scaler");
      return found->second;
    };
    const double scale = number("scale").toDouble();
    const int64_t tracker = number("_growth_tracker").toLong();
    const GradScalerOptions loaded = GradScalerOptions(options_)
                                         .growth_factor(number("growth_factor").toDouble())
                                         .backoff_factor(number("backoff_factor").toDouble())
                                         .growth_interval(number("growth_interval").toLong());
    TORCH_CHECK(scale > 0 && std::isfinite(scale) && tracker >= 0, "load_state_dict: scale = ", scale,
                ", _growth_tracker = ", tracker, "; the scale must be positive and finite, the tracker at least 0");
    set(loaded);
    options_.init_scale(scale);
    init_growth_tracker_ = tracker;
    if (scale_.defined()) {
      scale_.fill_(scale);
      growth_tracker_.fill_(tracker);
    }
  }

 private:
  enum class Stage { unscaled, stepped };
  struct Record {
    Stage stage;
    std::vector<at::Tensor> found_infs;  ///< one per device, f32 of one element; not 0 after an inf or NaN
  };

  static void check_options(const GradScalerOptions& options) {
    TORCH_CHECK(options.growth_factor() > 1 && std::isfinite(options.growth_factor()),
                "GradScaler: growth_factor = ", options.growth_factor(), "; it must be above 1 and finite");
    TORCH_CHECK(options.backoff_factor() > 0 && options.backoff_factor() < 1,
                "GradScaler: backoff_factor = ", options.backoff_factor(), "; it must be between 0 and 1");
    TORCH_CHECK(options.growth_interval() >= 1, "GradScaler: growth_interval = ", options.growth_interval(),
                "; it must be at least 1");
  }
  void set(const GradScalerOptions& options) {
    check_options(options);
    options_ = options;
  }
  void check_scaled(const char* call) const {
    TORCH_CHECK(scale_.defined(), call,
                ": the scaler has not scaled a loss yet; call scale(loss).backward() first in the iteration");
  }

  /// Returns the flags of the devices.
  std::vector<at::Tensor> unscale_gradients(const torch::optim::Optimizer& optimizer) const {
    struct Group {
      at::Tensor found_inf, inverse;
      std::vector<at::Tensor> grads;
    };
    const torch::NoGradGuard no_grad;
    // 1 / scale is rounded once. Metal has no f64.
    const at::Tensor inverse =
        scale_.device().is_mps() ? scale_.reciprocal() : scale_.to(at::kDouble).reciprocal().to(at::kFloat);
    std::vector<Group> groups{{at::zeros_like(scale_), inverse, {}}};  // for each device and dtype
    std::unordered_set<const at::TensorImpl*> seen;
    for (const auto& param_group : optimizer.param_groups()) {
      for (const at::Tensor& parameter : param_group.params()) {
        at::Tensor grad = parameter.grad();
        if (!grad.defined() || !seen.insert(grad.unsafeGetTensorImpl()).second) continue;
        TORCH_CHECK(grad.scalar_type() != at::kHalf,
                    "unscale_: a gradient is Half, which the scale may have overflowed; keep parameters in Float");
        if (grad.is_sparse()) grad = grad._values();
        const auto fits = [&](const Group& g) {
          return g.found_inf.device() == grad.device() &&
                 (g.grads.empty() || g.grads[0].scalar_type() == grad.scalar_type());
        };
        auto group = std::find_if(groups.begin(), groups.end(), fits);
        if (group == groups.end()) {
          groups.push_back({at::zeros_like(scale_, at::TensorOptions(grad.device())), inverse.to(grad.device()), {}});
          group = std::prev(groups.end());
        }
        group->grads.push_back(grad);
      }
    }
    std::vector<at::Tensor> found_infs;
    for (Group& group : groups) {
      if (!group.grads.empty()) {
        at::_amp_foreach_non_finite_check_and_unscale_(group.grads, group.found_inf, group.inverse);
      }
      found_infs.push_back(group.found_inf);
    }
    return found_infs;
  }

  GradScalerOptions options_;
  int64_t init_growth_tracker_ = 0;
  at::Tensor scale_, growth_tracker_;  // f32 and i32 of one element, on the device; created by the first scale()
  std::unordered_map<const torch::optim::Optimizer*, Record> records_;  // of this iteration
};

}  // namespace torch::amp
#endif  // TANDEM_TORCH_COMPAT
