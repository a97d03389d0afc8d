#include "tandem/optim/multi_tensor_optimizer.h"

#include <utility>

#include "src/optim/multi_tensor.h"
#include "src/optim/optimizer_kind.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

Tensor initial_state(const StateField& field, const Tensor& p) {
  Tensor state = zero_state(p);
  if (field.initial != 0) state.fill_(field.initial);
  return state;
}

/// Returns the state of `p` before its first step. Null options: the default ones.
std::unique_ptr<OptimizerParamState> initial_state(const OptimizerKind& kind, const OptimizerOptions* options,
                                                   const Tensor& p) {
  auto state = kind.new_state();
  const StateFields fields = kind.fields(*state, options);
  for (const StateField& field : fields.tensors) {
    if (field.use == Use::required) *field.tensor = initial_state(field, p);
  }
  if (fields.step) *fields.step = zero_steps(p);
  if (fields.scalar) {
    *fields.scalar = zero_steps(p);
    fields.scalar->fill_(1);
  }
  return state;
}

/// Adds the state of `p` to the call.
void add_state(OptimizerCall& call, const StateFields& fields, const Tensor& p) {
  for (size_t k = 0; k < fields.tensors.size(); ++k) {
    const StateField& field = fields.tensors[k];
    if (field.use == Use::absent) continue;
    // Options that need it may have been set after the first step.
    if (field.use == Use::optional && !field.tensor->defined()) *field.tensor = initial_state(field, p);
    check_state(field.name, *field.tensor, p);
    call.states[k].push_back(*field.tensor);
  }
  if (fields.step) {
    check_steps(*fields.step, p);
    call.steps.push_back(*fields.step);
  }
  if (fields.scalar) {
    check_scalar_state("mu_product", *fields.scalar, p);
    call.scalars.push_back(*fields.scalar);
  }
}

}  // namespace

void check_betas(const std::tuple<double, double>& betas) {
  const double values[] = {std::get<0>(betas), std::get<1>(betas)};
  for (int i = 0; i < 2; ++i) {
    TANDEM_CHECK(values[i] >= 0 && values[i] < 1, StateError, "beta {} = {}; it must be in [0, 1)", i, values[i]);
  }
}

void throw_other_options(const char* name) {
  TANDEM_THROW(StateError, "a parameter group has the options of another optimizer; give it {}Options", name);
}

bool MultiTensorOptimizer::overrides_step() const { return typeid(*this) != kind().type; }

void MultiTensorOptimizer::check_options(const OptimizerOptions& options) const {
  const OpScope op(kind().name);
  kind().check(options);
}

std::unique_ptr<OptimizerParamState> MultiTensorOptimizer::new_param_state(const Tensor& param) const {
  return initial_state(kind(), nullptr, param);
}

void MultiTensorOptimizer::step(const FusedUnscale& scaling) {
  const OptimizerKind& kind = this->kind();
  const OpScope op(kind.name);
  NoGradGuard no_grad;
  check_scaling(scaling);
  TANDEM_CHECK(size() > 0, StateError, "step() without any parameters; were the modules registered?");
  std::vector<OptimizerCall> calls;
  // All checks come before the first write.
  for (OptimizerParamGroup& group : param_groups()) {
    const OptimizerOptions& options = group.options();
    kind.check(options);
    OptimizerCall settings;
    kind.configure(settings, options);
    settings.captured_lr = captured_lr(group);
    CallList<OptimizerCall> list;
    for (const Tensor& p : group.params()) {
      const Tensor& grad = p.grad();
      if (!grad.defined()) continue;
      check_gradient(p, grad, scaling);
      StepTarget target = step_target(p);
      OptimizerCall& call = list.call_for(target.updated, settings, scaling, group.params().size());
      add_parameter(call, std::move(target.updated), std::move(target.shadow), grad);
      auto own = state().find(&p.impl());
      if (own == state().end() || !own->second) {
        auto made = initial_state(kind, &options, p);  // if it throws, no entry has been added
        keep_alive(p);
        own = state().insert_or_assign(&p.impl(), std::move(made)).first;
      }
      add_state(call, kind.fields(*own->second, &options), p);
    }
    list.move_to(calls);
  }
  for_each_device_type<OptimizerCall>(
      calls, [](ArrayRef<OptimizerCall> list) { backend(list[0].params[0]).optimizer_step(list); });
  for (const OptimizerCall& call : calls) {
    finish(call, {&call.states[0], &call.states[1], &call.states[2], &call.steps, &call.scalars});
    note_masters(call);
  }
}

}  // namespace tandem::optim
