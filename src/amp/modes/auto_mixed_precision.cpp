#include "tandem/amp/modes/auto_mixed_precision.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "src/amp/optimizer_gradients.h"
#include "src/amp/scaler_state.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

// Constants only: code of this file may run before main(), before the variables of other files are initialized.
constexpr const char* kSwitch = "TANDEM_AUTO_MIXED_PRECISION";

/// Scales every backward pass and checks the gradients at every step. Keeps one scale per device type.
/// The overflow flags of an iteration's steps are counted when the next iteration begins. The flags of a replayed CUDA
/// graph join those of eager steps after the replay. A replay that begins an iteration counts both before its own work.
class AutoMixedPrecisionScaler final : public autograd::BackwardScaler,
                                       public optim::StepScaler,
                                       public std::enable_shared_from_this<AutoMixedPrecisionScaler> {
 public:
  AutoMixedPrecisionScaler(const GradScalerOptions& options, const bool (&scales)[kNumDeviceTypes])
      : scalers_{GradScaler(options), GradScaler(options)} {
    std::copy(std::begin(scales), std::end(scales), scales_);
  }

  Factors begin(const Tensor& loss) override {
    const auto type = static_cast<size_t>(loss.device().type());
    if (!scales_[type]) return {};
    NoGradGuard no_grad;
    const AutocastOff no_autocast;
    std::lock_guard lock(mutex_);
    update(type, waiting(type));
    if (GraphCapture* capture = current_capture()) {
      capture->before_replay([self = shared_from_this(), type] {
        std::lock_guard replaying(self->mutex_);
        self->update(type, self->waiting_[type]);
      });
    }
    begun_[type] = true;
    // Copies: other threads may change the scale while the pass runs.
    Factors factors;
    factors.scale = scalers_[type].scale(ones({}, TensorOptions(kFloat).device(loss.device())));
    factors.inverse = scalers_[type].inverse_scale().clone();
    return factors;
  }

  void end() override { detail::end_casts_outside_regions(); }

  void step(optim::Optimizer& optimizer) override {
    const std::vector<Tensor> grads = gradients_of(optimizer);
    const auto type = static_cast<size_t>(grads.empty() ? kCPU : grads[0].device().type());
    const bool one_type = std::all_of(grads.begin(), grads.end(), [type](const Tensor& g) {
      return g.is_floating_point() && static_cast<size_t>(g.device().type()) == type;
    });
    if (grads.empty() || !scales_[type] || !one_type) return optimizer.step(FusedUnscale{});
    NoGradGuard no_grad;
    const AutocastOff no_autocast;
    FusedUnscale scaling;
    scaling.found_inf = zeros({}, TensorOptions(kFloat).device(grads[0].device()));
    backend(grads[0]).check_finite(grads, ones({}, scaling.found_inf.options()), scaling.found_inf);
    {
      std::lock_guard lock(mutex_);
      if (begun_[type]) waiting(type).push_back(scaling.found_inf);
    }
    optimizer.step(scaling);
  }

  /// The scale of each device type, as "cpu.scale", ...
  StateDict state_dict() override {
    std::lock_guard lock(mutex_);
    StateDict state;
    for (size_t type = 0; type < kNumDeviceTypes; ++type) {
      if (!scales_[type]) continue;
      update(type, waiting_[type]);
      add_below(state, name_of(type), state_of(scalers_[type]));
    }
    return state;
  }
  StateCommit prepare_load_state_dict(const StateDict& state) override {
    std::lock_guard lock(mutex_);
    std::vector<StateCommit> commits;
    for (size_t type = 0; type < kNumDeviceTypes; ++type) {
      if (scales_[type]) commits.push_back(prepare_state_below(scalers_[type], state, name_of(type)));
    }
    return [self = shared_from_this(), commits] {
      std::lock_guard loading(self->mutex_);
      for (const StateCommit& commit : commits) commit();
      for (Flags& flags : self->waiting_) flags.clear();  // flags from before the load
    };
  }

  double scale(DeviceType type) {
    const auto t = static_cast<size_t>(type);
    std::lock_guard lock(mutex_);
    if (!scales_[t]) return 1;
    update(t, waiting_[t]);
    return scalers_[t].get_scale();
  }

 private:
  using Flags = std::vector<Tensor>;

  static std::string name_of(size_t type) { return std::string(name(static_cast<DeviceType>(type))); }

  /// Counts the flags and updates the scale. Inside a capture, the recorded count happens at each replay.
  void update(size_t type, Flags& flags) {
    if (flags.empty()) return;
    for (const Tensor& found_inf : flags) scalers_[type].record_found_inf(found_inf);
    scalers_[type].update();
    flags.clear();
  }

  /// The flags to count in the next iteration. In a capture: the graph's flags, which are added to the list after each
  /// replay.
  Flags& waiting(size_t type) {
    GraphCapture* capture = current_capture();
    if (!capture) return waiting_[type];
    std::shared_ptr<void>& note = capture->note(&waiting_[type]);
    if (!note) {
      const auto flags = std::make_shared<Flags>();
      capture->after_replay([self = shared_from_this(), flags, type] {
        std::lock_guard replayed(self->mutex_);
        self->waiting_[type].insert(self->waiting_[type].end(), flags->begin(), flags->end());
      });
      note = flags;
    }
    return *static_cast<Flags*>(note.get());
  }

  std::mutex mutex_;
  GradScaler scalers_[kNumDeviceTypes];
  bool scales_[kNumDeviceTypes] = {};
  bool begun_[kNumDeviceTypes] = {};  // a backward pass has been scaled
  Flags waiting_[kNumDeviceTypes];
};

struct Enabled {
  std::shared_ptr<AutoMixedPrecisionScaler> scaling;
  PolicyChanges before;  // the previous policies of the changed ops
};
std::mutex enabled_mutex;
std::optional<Enabled>& enabled() {
  static auto* state = new std::optional<Enabled>;
  return *state;
}

const char* variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value && *value ? value : nullptr;
}

/// The names in a comma-separated list.
std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string name = list.substr(begin, end - begin);
    std::erase(name, ' ');
    if (!name.empty()) names.push_back(name);
    begin = end + 1;
  }
  return names;
}

void read_list(const std::string& suffix, std::optional<Cast> removed_from, Cast cast, PolicyChanges& changes) {
  const std::string name = std::string(kSwitch) + "_" + suffix;
  const char* value = variable(name);
  if (!value) return;
  for (const std::string& op : names_of(value)) {
    const int row = policy_row(op);
    TANDEM_CHECK(row >= 0, StateError,
                 "{} contains '{}', which is not an op; include/tandem/amp/policy.h lists the names", name, op);
    const Cast listed = policy_table[static_cast<size_t>(row)].cast;
    const Cast list = listed == Cast::f32_dtype ? Cast::f32 : listed;
    TANDEM_CHECK(!removed_from || list == *removed_from, StateError,
                 "{} contains '{}', which is not on that list; remove it", name, op);
    changes.emplace_back(op, cast);
  }
}

/// The default low dtype of each device type.
constexpr DType kLow[kNumDeviceTypes] = {kBFloat16, kHalf};

void set_autocast(DeviceType type, bool on, DType low) {
  set_autocast_dtype(type, low);
  const bool effective = on && is_autocast_available(type);
  set_autocast_enabled(type, effective);
  set_initial_autocast(type, {effective, low});
}

}  // namespace

AutoMixedPrecisionOptions AutoMixedPrecisionOptions::from_environment() {
  const OpScope op("from_environment");
  AutoMixedPrecisionOptions options;
  if (const char* value = variable(std::string(kSwitch) + "_DTYPE")) {
    const std::string text = value;
    TANDEM_CHECK(text == "f16" || text == "bf16", StateError, "{}_DTYPE is \"{}\"; use f16 or bf16", kSwitch, text);
    options.dtype(text == "f16" ? kHalf : kBFloat16);
  }
  if (const char* value = variable(std::string(kSwitch) + "_LOSS_SCALE");
      value && std::string_view(value) != "dynamic") {
    const std::string_view text = value;
    double scale = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
    TANDEM_CHECK(error == std::errc() && end == text.data() + text.size() && scale > 0 && scale <= 0x1p127, StateError,
                 "{}_LOSS_SCALE is \"{}\"; use a positive number, or dynamic", kSwitch, text);
    options.loss_scale(scale);
  }
  PolicyChanges& changes = options.policies();
  read_list("ALLOWLIST_REMOVE", Cast::lower, Cast::keep, changes);
  read_list("DENYLIST_REMOVE", Cast::f32, Cast::keep, changes);
  read_list("INFERLIST_REMOVE", Cast::promote, Cast::keep, changes);
  read_list("CLEARLIST_ADD", {}, Cast::keep, changes);
  read_list("INFERLIST_ADD", {}, Cast::promote, changes);
  read_list("DENYLIST_ADD", {}, Cast::f32, changes);
  read_list("ALLOWLIST_ADD", {}, Cast::lower, changes);
  return options;
}

void enable_auto_mixed_precision(const AutoMixedPrecisionOptions& options) {
  const OpScope op("enable_auto_mixed_precision");
  TANDEM_CHECK(!options.dtype() || is_reduced_floating_point(*options.dtype()), DTypeError,
               "the low dtype must be f16 or bf16, not {}", name(*options.dtype()));
  // All validation comes before the first change.
  const PolicyOverrides checked(nullptr, options.policies());
  bool scales[kNumDeviceTypes] = {};
  for (int type = 0; type < kNumDeviceTypes; ++type) scales[type] = options.dtype().value_or(kLow[type]) == kHalf;
  GradScalerOptions scaler =
      GradScalerOptions().init_scale(options.loss_scale().value_or(32768)).min_scale(options.loss_scale() ? 0 : 1);
  scaler.static_scale(options.loss_scale().has_value());
  Enabled now{std::make_shared<AutoMixedPrecisionScaler>(scaler, scales), {}};
  disable_auto_mixed_precision();
  std::lock_guard lock(enabled_mutex);
  for (const auto& [op_name, cast] : options.policies()) {
    now.before.emplace_back(op_name, detail::process_policy(policy_row(op_name)));
  }
  for (const auto& [op_name, cast] : options.policies()) set_policy(op_name, cast);
  for (const DeviceType type : {kCPU, kCUDA}) {
    set_autocast(type, true, options.dtype().value_or(kLow[static_cast<int>(type)]));
  }
  autograd::set_backward_scaler(now.scaling);
  optim::Optimizer::set_default_step_scaler(now.scaling);
  enabled() = std::move(now);
}

void disable_auto_mixed_precision() {
  std::lock_guard lock(enabled_mutex);
  if (!enabled()) return;
  for (const DeviceType type : {kCPU, kCUDA}) set_autocast(type, false, kLow[static_cast<int>(type)]);
  autograd::set_backward_scaler(nullptr);
  optim::Optimizer::set_default_step_scaler(nullptr);
  for (auto it = enabled()->before.rbegin(); it != enabled()->before.rend(); ++it) set_policy(it->first, it->second);
  enabled().reset();
  clear_autocast_cache();
}

bool is_auto_mixed_precision_enabled() {
  std::lock_guard lock(enabled_mutex);
  return enabled().has_value();
}

double auto_mixed_precision_scale(DeviceType type) {
  std::lock_guard lock(enabled_mutex);
  return enabled() ? enabled()->scaling->scale(type) : 1;
}

bool detail::start_auto_mixed_precision() {
  const char* value = variable(kSwitch);
  if (!value || std::string_view(value) == "0") return false;
  TANDEM_CHECK(std::string_view(value) == "1", StateError, "{} is \"{}\"; use 1 or 0", kSwitch, value);
  const AutoMixedPrecisionOptions options = AutoMixedPrecisionOptions::from_environment();
  enable_auto_mixed_precision(options);
  const DeviceType main = is_autocast_available(kCUDA) ? kCUDA : kCPU;
  const DType low = get_autocast_dtype(main);
  const std::string scaling = low != kHalf           ? std::string("no loss scaling")
                              : options.loss_scale() ? fmt::format("loss scale {}", *options.loss_scale())
                                                     : std::string("dynamic loss scale");
  std::fprintf(stderr, "tandem: automatic mixed precision is on (%s=1): %s on %s, %s, %zu ops on other lists\n",
               kSwitch, std::string(name(low)).c_str(), std::string(name(main)).c_str(), scaling.c_str(),
               options.policies().size());
  return true;
}

}  // namespace tandem::amp
