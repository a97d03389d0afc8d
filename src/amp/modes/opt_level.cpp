#include "tandem/amp/modes/opt_level.h"

#include <cmath>
#include <cstdio>
#include <mutex>
#include <unordered_set>

#include "src/amp/modes/apex_step_scaler.h"
#include "src/amp/modes/f32_masters.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_hook.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/check.h"
#include "tandem/nn/modules/norm.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::amp {
namespace {

/// The properties of a level after overrides.
struct Properties {
  std::optional<DType> cast_model_type;
  bool autocast, keep_batchnorm_fp32, master_weights;
  LossScale loss_scale;
};

const char* name_of(OptLevel level) {
  constexpr const char* names[] = {"O0", "O1", "O2", "O3"};
  return names[static_cast<int>(level)];
}

Properties defaults_of(OptLevel level) {
  switch (level) {
    case OptLevel::O0:
      return {kFloat, false, false, false, 1.0};
    case OptLevel::O1:
      return {{}, true, false, false, "dynamic"};
    case OptLevel::O2:
      return {kHalf, false, true, true, "dynamic"};
    case OptLevel::O3:
      return {kHalf, false, false, false, 1.0};
  }
  TANDEM_THROW(StateError, "{} is not an optimization level; use O0, O1, O2 or O3", static_cast<int>(level));
}

void check_cast(const char* option, std::optional<DType> dtype) {
  TANDEM_CHECK(!dtype || (is_differentiable(*dtype) && *dtype != kDouble), StateError, "{} is {}; use f32, f16 or bf16",
               option, dtype ? name(*dtype) : "");
}

Properties properties_of(OptLevel level, const InitializeOptions& o) {
  Properties p = defaults_of(level);
  const bool o1 = level == OptLevel::O1;
  check_cast("cast_model_type", o.cast_model_type());
  check_cast("cast_model_outputs", o.cast_model_outputs());
  TANDEM_CHECK(!o1 || !o.cast_model_type() || *o.cast_model_type() == kFloat, StateError,
               "cast_model_type is {} at O1, which casts the inputs of ops, not the model; omit it, or choose O2",
               name(*o.cast_model_type()));
  TANDEM_CHECK(o1 || !o.patch_torch_functions().value_or(false), StateError,
               "patch_torch_functions at {}, but only O1 casts the inputs of ops; omit it, or choose O1",
               name_of(level));
  TANDEM_CHECK(!o1 || !o.keep_batchnorm_fp32(), StateError,
               "keep_batchnorm_fp32 at O1, where batch norm stays f32 anyway; omit it");
  TANDEM_CHECK(!o1 || !o.master_weights(), StateError,
               "master_weights at O1, where parameters stay f32 and need no masters; omit it");
  TANDEM_CHECK(o.num_losses() >= 1 && o.num_losses() <= 1000000, StateError, "num_losses is {}; it must be at least 1",
               o.num_losses());
  TANDEM_CHECK(o.verbosity() >= 0, StateError, "verbosity is {}; it must be at least 0", o.verbosity());
  if (o.cast_model_type() && !o1) p.cast_model_type = o.cast_model_type();
  p.autocast = o.patch_torch_functions().value_or(p.autocast);
  p.keep_batchnorm_fp32 = o.keep_batchnorm_fp32().value_or(p.keep_batchnorm_fp32);
  p.master_weights = o.master_weights().value_or(p.master_weights);
  if (o.loss_scale()) p.loss_scale = *o.loss_scale();
  const bool low = p.cast_model_type && *p.cast_model_type != kFloat;
  TANDEM_CHECK(!o.master_weights().value_or(false) || low, StateError,
               "master_weights at {} with parameters in f32, which need no masters; omit it", name_of(level));
  return p;
}

GradScalerOptions scaler_options(const Properties& p, const InitializeOptions& o) {
  if (p.loss_scale.is_dynamic()) {
    const double low = o.min_loss_scale().value_or(0), high = o.max_loss_scale();
    return GradScalerOptions()
        .init_scale(std::max(low, high == 0 ? 65536.0 : std::min(high, 65536.0)))
        .min_scale(low)
        .max_scale(high);
  }
  return GradScalerOptions().init_scale(p.loss_scale.fixed()).static_scale(true).enabled(p.loss_scale.fixed() != 1);
}

void check_parts(const std::vector<nn::Module*>& models, const std::vector<optim::Optimizer*>& optimizers,
                 const Properties& p) {
  TANDEM_CHECK(!models.empty(), StateError, "no models were given; pass at least one");
  for (const nn::Module* model : models) {
    TANDEM_CHECK(model, StateError, "a model is null; construct it first");
    for (const auto& item : model->named_parameters()) {
      TANDEM_CHECK(item.value().dtype() == kFloat || !item.value().is_floating_point(), DTypeError,
                   "the parameter '{}' is {}; pass the model in f32, because initialize() casts it", item.key(),
                   checks::show(item.value()));
    }
  }
  std::unordered_set<const optim::Optimizer*> seen;
  for (const optim::Optimizer* optimizer : optimizers) {
    TANDEM_CHECK(optimizer, StateError, "an optimizer is null; construct it first");
    TANDEM_CHECK(seen.insert(optimizer).second, StateError, "an optimizer is given twice; list each once");
    TANDEM_CHECK(!optimizer->step_scaler(), StateError,
                 "an optimizer already has a mode; initialize or boost each optimizer once");
    TANDEM_CHECK(optimizer->supports_amp_scaling(), NotImplementedError,
                 "an optimizer cannot unscale and skip on its own; override step(const FusedUnscale&) and "
                 "supports_amp_scaling(), and either do not override step(closure) or end it with plain_step()");
    TANDEM_CHECK(!p.master_weights || optimizer->supports_master_weights(), NotImplementedError,
                 "an optimizer does not support master weights; use one of tandem's optimizers except LBFGS, or set "
                 "master_weights "
                 "to false");
  }
}

void cast_model(nn::Module& model, DType dtype, bool keep_batchnorm) {
  NoGradGuard no_grad;
  model.apply([&](nn::Module& m) {
    if (keep_batchnorm && m.as<nn::BatchNormImplBase>()) return;
    const auto cast = [&](const Tensor& t) {
      if (!is_differentiable(t.dtype()) || t.dtype() == dtype) return;
      t.set_data(to(t.detach(), dtype));
      if (t.grad().defined()) autograd::replace_gradient(t, to(t.grad().detach(), dtype));
    };
    for (const Tensor& t : m.parameters(/*recurse=*/false)) cast(t);
    for (const Tensor& t : m.buffers(/*recurse=*/false)) cast(t);
  });
}

Device device_of(const std::vector<nn::Module*>& models) {
  for (const nn::Module* model : models) {
    const std::vector<Tensor> parameters = model->parameters();
    if (!parameters.empty()) return parameters[0].device();
  }
  return Device(kCPU);
}

/// Switches O1's autocast on, or off. Switching it off restores the previous state, unless autocast was changed in
/// between.
void set_autocast(DeviceType type, bool on) {
  static std::mutex mutex;
  static std::optional<AutocastState> before_o1[kNumDeviceTypes];
  const std::lock_guard lock(mutex);
  std::optional<AutocastState>& before = before_o1[static_cast<size_t>(type)];
  AutocastState& now = thread_state().autocast[static_cast<size_t>(type)];
  if (!now.enabled || now.dtype != kHalf) before.reset();  // not O1's setting
  if (on) {
    if (!before) before = now;
    now = {true, kHalf};
  } else {
    if (!before) return;
    now = *std::exchange(before, std::nullopt);
  }
  set_initial_autocast(type, now);
}

}  // namespace

LossScale::LossScale(double fixed) : fixed_(fixed) {
  const OpScope op("LossScale");
  TANDEM_CHECK(std::isfinite(fixed) && fixed > 0, StateError,
               "{} is not a scale; use a positive number, or \"dynamic\"", fixed);
}

LossScale::LossScale(const char* word) {
  const OpScope op("LossScale");
  TANDEM_CHECK(word && std::string_view(word) == "dynamic", StateError,
               "\"{}\" is not a scale; use \"dynamic\", or a positive number", word ? word : "");
}

OptLevel opt_level(std::string_view word) {
  const OpScope op("opt_level");
  for (const OptLevel level : {OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3}) {
    if (word == name_of(level)) return level;
  }
  TANDEM_THROW(
      StateError,
      "\"{}\" is not an optimization level; use \"O0\", \"O1\", \"O2\" or \"O3\" (the letter O, not the digit 0)",
      word);
}

void initialize(const std::vector<nn::Module*>& models, const std::vector<optim::Optimizer*>& optimizers,
                OptLevel level, const InitializeOptions& options) {
  const OpScope op("initialize");
  NoGradGuard no_grad;
  const Properties p = properties_of(level, options);
  check_parts(models, optimizers, p);
  const bool enabled = options.enabled();
  const auto scaling =
      std::make_shared<ApexStepScaler>(enabled ? scaler_options(p, options) : GradScalerOptions().enabled(false),
                                       options.num_losses(), options.verbosity() >= 2);
  for (optim::Optimizer* optimizer : optimizers) optimizer->set_step_scaler(scaling);
  if (!enabled) return;

  set_autocast(device_of(models).type(), p.autocast);
  cast_to_masters(p.master_weights ? optimizers : std::vector<optim::Optimizer*>(), [&] {
    if (!p.cast_model_type) return;
    for (nn::Module* model : models) cast_model(*model, *p.cast_model_type, p.keep_batchnorm_fp32);
  });
  for (nn::Module* model : models) {
    CastHookOptions casts{p.cast_model_type, options.cast_model_outputs(), {}, kHalf};
    if (p.cast_model_type && !casts.outputs) casts.outputs = kFloat;
    if (casts.inputs || casts.outputs) model->set_call_hook(std::make_shared<CastHook>(casts));
  }
  if (options.verbosity() >= 1) {
    const bool low = p.cast_model_type && *p.cast_model_type != kFloat;
    const std::string scale =
        p.loss_scale.is_dynamic() ? std::string("dynamic") : fmt::format("{}", p.loss_scale.fixed());
    std::printf("tandem: opt level %s: model %s, autocast %s, batch norm in f32 %s, masters %s, loss scale %s\n",
                name_of(level), p.cast_model_type ? std::string(name(*p.cast_model_type)).c_str() : "unchanged",
                p.autocast ? "on" : "off", p.keep_batchnorm_fp32 || !low ? "yes" : "no",
                p.master_weights ? "yes" : "no", scale.c_str());
  }
}

void register_half_function(std::string_view op) {
  const OpScope scope("register_half_function");
  set_policy(op, Cast::lower);
}
void register_float_function(std::string_view op) {
  const OpScope scope("register_float_function");
  set_policy(op, Cast::f32);
}
void register_promote_function(std::string_view op) {
  const OpScope scope("register_promote_function");
  set_policy(op, Cast::promote);
}

}  // namespace tandem::amp
