// model_state() and load_model_state(): the state of a model in f32, for every opt level.
#include "src/amp/modes/for_each_parameter.h"
#include "tandem/amp/modes/opt_level.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/op_scope.h"
#include "tandem/ops/convert.h"
#include "tandem/tensor/state_dict.h"

namespace tandem::amp {
namespace {

OrderedDict<std::string, Tensor> tensors_of(const nn::Module& model) {
  OrderedDict<std::string, Tensor> all = model.named_parameters();
  for (const auto& item : model.named_buffers()) all.insert(item.key(), item.value());
  return all;
}

/// The optimizer that holds a master of `t`; null if none does.
optim::Optimizer* holder_of(const Tensor& t, const std::vector<optim::Optimizer*>& optimizers) {
  if (!is_reduced_floating_point(t.dtype())) return nullptr;
  for (optim::Optimizer* optimizer : optimizers) {
    if (!optimizer || optimizer->master_weights() == optim::MasterWeights::none) continue;
    bool holds = false;
    for_each_parameter(*optimizer, [&](const Tensor& p) { holds |= p.is_same(t); });
    if (holds) return optimizer;
  }
  return nullptr;
}

}  // namespace

OrderedDict<std::string, Tensor> model_state(const nn::Module& model,
                                             const std::vector<optim::Optimizer*>& optimizers) {
  const OpScope op("model_state");
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
  const OpScope op("load_model_state");
  NoGradGuard no_grad;
  StateReader reader(state);
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& item : tensors_of(model)) {
    if (const Tensor* value = reader.fitting(item.key(), item.value())) copies.emplace_back(item.value(), *value);
  }
  reader.finish();
  for (const auto& [t, value] : copies) {
    if (optim::Optimizer* holder = holder_of(t, optimizers)) {
      holder->set_master(t, value);
    } else {
      t.detach().copy_(value);
    }
  }
}

}  // namespace tandem::amp
