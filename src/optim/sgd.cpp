#include "tandem/optim/sgd.h"

#include <cmath>
#include <typeinfo>
#include <utility>

#include "src/optim/multi_tensor.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {
namespace {

const SGDOptions& sgd_options(const OptimizerOptions& options) {
  const auto* own = dynamic_cast<const SGDOptions*>(&options);
  TANDEM_CHECK(own, StateError, "a parameter group has the options of another optimizer; give it SGDOptions");
  return *own;
}

SGDParamState new_sgd_state(const Tensor& p) {
  SGDParamState state;
  state.momentum_buffer(zero_state(p)).step(zero_steps(p));
  return state;
}

}  // namespace

void SGDOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("momentum", momentum_);
  visitor.number("dampening", dampening_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("nesterov", nesterov_);
  visitor.number("maximize", maximize_);
}

void SGDParamState::visit_fields(StateVisitor& visitor) {
  visitor.tensor("momentum_buffer", momentum_buffer_);
  visitor.count("step", step_);
}

std::unique_ptr<OptimizerParamState> SGD::new_param_state(const Tensor& param) const {
  return std::make_unique<SGDParamState>(new_sgd_state(param));
}

SGDOptions::SGDOptions(double lr) : lr_(lr) {}

SGD::SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults)
    : Optimizer(param_groups, std::make_unique<SGDOptions>(std::move(defaults))) {
  check_all_options();
}

SGD::SGD(std::vector<Tensor> params, SGDOptions defaults)
    : SGD(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

bool SGD::overrides_step() const { return typeid(*this) != typeid(SGD); }

void SGD::check_options(const OptimizerOptions& options) const {
  const OpScope op("SGD");
  const SGDOptions& o = sgd_options(options);
  checks::not_negative("lr", o.lr());
  checks::not_negative("momentum", o.momentum());
  checks::not_negative("weight_decay", o.weight_decay());
  TANDEM_CHECK(std::isfinite(o.dampening()), StateError, "dampening = {}; it must be finite", o.dampening());
  TANDEM_CHECK(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0), StateError,
               "nesterov with momentum = {} and dampening = {}; it needs momentum above 0 and dampening 0",
               o.momentum(), o.dampening());
}

void SGD::step(const FusedUnscale& scaling) {
  const OpScope op("SGD");
  NoGradGuard no_grad;
  check_scaling(scaling);
  TANDEM_CHECK(size() > 0, StateError, "step() without any parameters; were the modules registered?");
  std::vector<SgdCall> calls;
  // All checks come before the first write.
  for (OptimizerParamGroup& group : param_groups()) {
    check_options(group.options());
    const SGDOptions& o = sgd_options(group.options());
    SgdCall settings;
    settings.lr = o.lr();
    settings.captured_lr = captured_lr(group);
    settings.momentum = o.momentum();
    settings.dampening = o.dampening();
    settings.weight_decay = o.weight_decay();
    settings.nesterov = o.nesterov();
    settings.maximize = o.maximize();
    CallList<SgdCall> list;
    for (const Tensor& p : group.params()) {
      const Tensor& grad = p.grad();
      if (!grad.defined()) continue;
      check_gradient(p, grad, scaling);
      StepTarget target = step_target(p);
      SgdCall& call = list.call_for(target.updated, settings, scaling, group.params().size());
      add_parameter(call, std::move(target.updated), std::move(target.shadow), grad);
      if (o.momentum() == 0) continue;
      SGDParamState& state = state_of<SGDParamState>(p, new_sgd_state);
      check_state("momentum_buffer", state.momentum_buffer(), p);
      call.momentum_buffers.push_back(state.momentum_buffer());
      check_steps(state.step(), p);
      call.steps.push_back(state.step());
    }
    list.move_to(calls);
  }
  for_each_device_type<SgdCall>(calls, [](ArrayRef<SgdCall> list) { backend(list[0].params[0]).sgd(list); });
  for (const SgdCall& call : calls) {
    finish(call, {&call.momentum_buffers, &call.steps});
    note_masters(call);
  }
}

}  // namespace tandem::optim
