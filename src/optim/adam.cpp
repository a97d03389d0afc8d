// Adam and AdamW, which differ only in where weight decay is applied.
#include "tandem/optim/adam.h"

#include <typeinfo>
#include <utility>

#include "src/optim/moment.h"
#include "src/optim/multi_tensor.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/optim/adamw.h"

namespace tandem::optim {
namespace {

/// Names and types of the two variants.
struct AdamKind {
  static constexpr const char* name = "Adam";
  static constexpr bool decoupled = false;
  using Options = AdamOptions;
  using ParamState = AdamParamState;
};
struct AdamWKind {
  static constexpr const char* name = "AdamW";
  static constexpr bool decoupled = true;
  using Options = AdamWOptions;
  using ParamState = AdamWParamState;
};

template <class Kind>
const typename Kind::Options& options_of(const OptimizerOptions& options) {
  const auto* own = dynamic_cast<const typename Kind::Options*>(&options);
  TANDEM_CHECK(own, StateError, "a parameter group has the options of another optimizer; give it {}Options",
               Kind::name);
  return *own;
}

void check_beta(int number, double beta) {
  TANDEM_CHECK(beta >= 0 && beta < 1, StateError, "beta {} = {}; it must be in [0, 1)", number, beta);
}

template <class Kind>
void check(const OptimizerOptions& options) {
  const OpScope op(Kind::name);
  const auto& o = options_of<Kind>(options);
  checks::not_negative("lr", o.lr());
  checks::not_negative("eps", o.eps());
  checks::not_negative("weight_decay", o.weight_decay());
  check_beta(0, std::get<0>(o.betas()));
  check_beta(1, std::get<1>(o.betas()));
  const DType first = o.exp_avg_dtype(), second = o.exp_avg_sq_dtype();
  TANDEM_CHECK(first == kFloat || first == kBFloat16 || first == kFloat8_e4m3fn, StateError,
               "exp_avg_dtype is {}; it must be f32, bf16 or f8e4m3fn", name(first));
  TANDEM_CHECK(second == kFloat || second == kBFloat16, StateError,
               "exp_avg_sq_dtype is {}; it must be f32 or bf16: in float8, small second moments would become 0",
               name(second));
}

template <class Kind>
AdamCall settings_of(const OptimizerOptions& options) {
  const auto& o = options_of<Kind>(options);
  AdamCall call;
  call.lr = o.lr();
  std::tie(call.beta1, call.beta2) = o.betas();
  call.eps = o.eps();
  call.weight_decay = o.weight_decay();
  call.amsgrad = o.amsgrad();
  call.maximize = o.maximize();
  call.decoupled = Kind::decoupled;
  return call;
}

template <class Kind>
typename Kind::ParamState new_state(const Tensor& p, const typename Kind::Options& options) {
  typename Kind::ParamState state;
  Moment first = zero_moment(p, options.exp_avg_dtype());
  state.step(zero_steps(p));
  state.exp_avg(std::move(first.value));
  state.exp_avg_scale(std::move(first.scale));
  state.exp_avg_sq(zero_moment(p, options.exp_avg_sq_dtype()).value);
  return state;
}

/// The options of the group that `p` belongs to; the defaults if it belongs to none.
template <class Kind>
const typename Kind::Options& options_for(const Tensor& p, const Optimizer& optimizer) {
  for (const OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& own : group.params()) {
      if (own.is_same(p)) return options_of<Kind>(group.options());
    }
  }
  return options_of<Kind>(optimizer.defaults());
}

/// The moments of a step. Those that options have changed replace the present ones once all checks have passed.
class StepMoments {
 public:
  /// Returns a moment in the dtype that the options ask for. `scale`: null if such moments have none.
  Moment take(const char* name, const Tensor& p, DType wanted, Tensor& value, Tensor* scale) {
    Moment m = refitted(p, wanted, value, scale ? *scale : Tensor());
    check_moment(name, p, wanted, m);
    const bool drops_scale = scale && scale->defined() && !m.scale.defined();
    if (!m.value.is_same(value) || drops_scale) replaced_.push_back({&value, scale, m});
    return m;
  }
  void commit() {
    for (Replacement& r : replaced_) {
      *r.value = std::move(r.moment.value);
      if (r.scale) *r.scale = std::move(r.moment.scale);
    }
  }

 private:
  struct Replacement {
    Tensor *value, *scale;
    Moment moment;
  };
  std::vector<Replacement> replaced_;
};

/// Adds the moments of `p` to the call.
void add_moments(AdamCall& call, const Tensor& p, DType first, DType second, AdamParamState& state,
                 StepMoments& moments) {
  Moment m = moments.take("exp_avg", p, first, state.exp_avg(), &state.exp_avg_scale());
  call.exp_avgs.push_back(std::move(m.value));
  if (m.scale.defined()) call.exp_avg_scales.push_back(std::move(m.scale));  // of all parameters of a call, or none
  call.exp_avg_sqs.push_back(moments.take("exp_avg_sq", p, second, state.exp_avg_sq(), nullptr).value);
  if (!call.amsgrad) return;
  if (!state.max_exp_avg_sq().defined()) state.max_exp_avg_sq(zero_moment(p, second).value);
  call.max_exp_avg_sqs.push_back(moments.take("max_exp_avg_sq", p, second, state.max_exp_avg_sq(), nullptr).value);
}

/// Builds the calls of one step. `target_of` returns the tensor to update for a parameter, `state_of` its state, and
/// `captured_lr` is the optimizer's. All checks come before the first write.
template <class Kind, class TargetOf, class StateOf, class CapturedLr>
std::vector<AdamCall> make_calls(std::vector<OptimizerParamGroup>& groups, const FusedUnscale& scaling,
                                 const TargetOf& target_of, const StateOf& state_of, const CapturedLr& captured_lr) {
  std::vector<AdamCall> calls;
  StepMoments moments;
  bool any = false;
  for (OptimizerParamGroup& group : groups) {
    check<Kind>(group.options());
    const auto& options = options_of<Kind>(group.options());
    AdamCall settings = settings_of<Kind>(group.options());
    settings.captured_lr = captured_lr(group);
    CallList<AdamCall> list;
    any |= !group.params().empty();
    for (const Tensor& p : group.params()) {
      const Tensor& grad = p.grad();
      if (!grad.defined()) continue;
      check_gradient(p, grad, scaling);
      auto target = target_of(p);
      AdamCall& call = list.call_for(target.updated, settings, scaling, group.params().size());
      add_parameter(call, std::move(target.updated), std::move(target.shadow), grad);
      AdamParamState& state = state_of(p, options);
      add_moments(call, p, options.exp_avg_dtype(), options.exp_avg_sq_dtype(), state, moments);
      check_steps(state.step(), p);
      call.steps.push_back(state.step());
    }
    list.move_to(calls);
  }
  TANDEM_CHECK(any, StateError, "step() without any parameters; were the modules registered?");
  moments.commit();
  return calls;
}

template <class NoteMasters>
void run(const std::vector<AdamCall>& calls, const NoteMasters& note_masters) {
  for_each_device_type<AdamCall>(calls, [](ArrayRef<AdamCall> list) { backend(list[0].params[0]).adam(list); });
  for (const AdamCall& call : calls) {
    finish(call, {&call.exp_avgs, &call.exp_avg_scales, &call.exp_avg_sqs, &call.max_exp_avg_sqs, &call.steps});
    note_masters(call);
  }
}

template <class Options>
void visit_options(Options& o, StateVisitor& visitor) {
  visitor.number("lr", o.lr());
  visitor.number("beta1", std::get<0>(o.betas()));
  visitor.number("beta2", std::get<1>(o.betas()));
  visitor.number("eps", o.eps());
  visitor.number("weight_decay", o.weight_decay());
  visitor.number("amsgrad", o.amsgrad());
  visitor.number("maximize", o.maximize());
}

}  // namespace

void AdamOptions::visit_fields(StateVisitor& visitor) { visit_options(*this, visitor); }
void AdamWOptions::visit_fields(StateVisitor& visitor) { visit_options(*this, visitor); }

void AdamParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.scaled_tensor("exp_avg", exp_avg_, exp_avg_scale_);
  visitor.tensor("exp_avg_sq", exp_avg_sq_);
  visitor.optional_tensor("max_exp_avg_sq", max_exp_avg_sq_, exp_avg_sq_);
}

std::unique_ptr<OptimizerParamState> Adam::new_param_state(const Tensor& param) const {
  return std::make_unique<AdamParamState>(new_state<AdamKind>(param, options_for<AdamKind>(param, *this)));
}

std::unique_ptr<OptimizerParamState> AdamW::new_param_state(const Tensor& param) const {
  return std::make_unique<AdamWParamState>(new_state<AdamWKind>(param, options_for<AdamWKind>(param, *this)));
}

AdamOptions::AdamOptions(double lr) : lr_(lr) {}

Adam::Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamOptions>(std::move(defaults))) {
  check_all_options();
}

Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Adam(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

bool Adam::overrides_step() const { return typeid(*this) != typeid(Adam); }

void Adam::check_options(const OptimizerOptions& options) const { check<AdamKind>(options); }

void Adam::step(const FusedUnscale& scaling) {
  const OpScope op(AdamKind::name);
  NoGradGuard no_grad;
  check_scaling(scaling);
  const auto calls = make_calls<AdamKind>(
      param_groups(), scaling, [this](const Tensor& p) { return step_target(p); },
      [this](const Tensor& p, const AdamOptions& options) -> AdamParamState& {
        return state_of<AdamParamState>(p, [&](const Tensor& own) { return new_state<AdamKind>(own, options); });
      },
      [this](const OptimizerParamGroup& group) { return captured_lr(group); });
  run(calls, [this](const AdamCall& call) { note_masters(call); });
}

AdamWOptions::AdamWOptions(double lr) : lr_(lr) {}

AdamW::AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults)
    : Optimizer(param_groups, std::make_unique<AdamWOptions>(std::move(defaults))) {
  check_all_options();
}

AdamW::AdamW(std::vector<Tensor> params, AdamWOptions defaults)
    : AdamW(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

bool AdamW::overrides_step() const { return typeid(*this) != typeid(AdamW); }

void AdamW::check_options(const OptimizerOptions& options) const { check<AdamWKind>(options); }

void AdamW::step(const FusedUnscale& scaling) {
  const OpScope op(AdamWKind::name);
  NoGradGuard no_grad;
  check_scaling(scaling);
  const auto calls = make_calls<AdamWKind>(
      param_groups(), scaling, [this](const Tensor& p) { return step_target(p); },
      [this](const Tensor& p, const AdamWOptions& options) -> AdamParamState& {
        return state_of<AdamWParamState>(p, [&](const Tensor& own) { return new_state<AdamWKind>(own, options); });
      },
      [this](const OptimizerParamGroup& group) { return captured_lr(group); });
  run(calls, [this](const AdamCall& call) { note_masters(call); });
}

}  // namespace tandem::optim
