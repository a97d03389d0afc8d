// The state of a model in f32, whatever its level.
#include "tandem/amp/opt_level.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::amp {
namespace {

OrderedDict<std::string, Tensor> tensors_of(const nn::Module& model) {
  OrderedDict<std::string, Tensor> all = model.named_parameters();
  for (const auto& item : model.named_buffers()) all.insert(item.key(), item.value());
  return all;
}

/// The optimizer that holds a master of `t`, if one does.
optim::Optimizer* holder_of(const Tensor& t, const std::vector<optim::Optimizer*>& optimizers) {
  if (!is_reduced_floating_point(t.dtype())) return nullptr;
  for (optim::Optimizer* optimizer : optimizers) {
    if (!optimizer || optimizer->master_weights() == optim::MasterWeights::none) continue;
    for (const auto& group : optimizer->param_groups()) {
      for (const Tensor& p : group.params()) {
        if (p.is_same(t)) return optimizer;
      }
    }
  }
  return nullptr;
}

}  // namespace

OrderedDict<std::string, Tensor> model_state(const nn::Module& model,
                                             const std::vector<optim::Optimizer*>& optimizers) {
  const WholeOpScope op("model_state");
  NoGradGuard no_grad;
  OrderedDict<std::string, Tensor> state;
  for (const auto& item : tensors_of(model)) {
    const Tensor& t = item.value();
    optim::Optimizer* holder = holder_of(t, optimizers);
    const Tensor value = holder ? holder->master(t) : t.detach();
    state.insert(item.key(), is_reduced_floating_point(value.dtype()) ? to(value, kFloat) : value.clone());
  }
  return state;
}

void load_model_state(const nn::Module& model, const OrderedDict<std::string, Tensor>& state,
                      const std::vector<optim::Optimizer*>& optimizers) {
  const WholeOpScope op("load_model_state");
  NoGradGuard no_grad;
  const OrderedDict<std::string, Tensor> tensors = tensors_of(model);
  for (const auto& item : tensors) {
    const Tensor* value = state.find(item.key());
    TANDEM_CHECK(value && value->defined(), StateError,
                 "load_model_state: '{}' is missing; give what model_state() returned for such a model", item.key());
    TANDEM_CHECK(value->sizes() == item.value().sizes(), ShapeError,
                 "load_model_state: '{}' is {}, but the model has {}", item.key(), checks::show(*value),
                 checks::show(item.value()));
  }
  for (const auto& item : state) {
    TANDEM_CHECK(tensors.contains(item.key()), StateError,
                 "load_model_state: '{}' is unexpected; the model has no such parameter or buffer", item.key());
  }
  for (const auto& item : tensors) {
    const Tensor& value = *state.find(item.key());
    if (optim::Optimizer* holder = holder_of(item.value(), optimizers)) {
      holder->set_master(item.value(), value);
    } else {
      item.value().detach().copy_(value);
    }
  }
}

}  // namespace tandem::amp
