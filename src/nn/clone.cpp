// Module::clone.
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/module.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::nn {
namespace {

Tensor copy_of(const Tensor& x, const std::optional<Device>& device) {
  return device && *device != x.device() ? x.detach().to(*device) : x.detach().clone();
}

void copy_float8(const Tensor& copy, const Tensor& original, const std::optional<Device>& device) {
  const std::shared_ptr<WeightFloat8> kept = find_weight_float8(original);
  if (!kept) return;
  const std::shared_ptr<WeightFloat8> own = weight_float8(copy);
  own->excluded = kept->excluded.load();
  if (!kept->delayed.defined()) return;
  own->delayed = copy_of(kept->delayed, device);
  own->gradient_noted = kept->gradient_noted != 0 ? WeightFloat8::kEarlierRun : 0;
}

template <class Dict>
void check_same_keys(const char* kind, const Dict& copied, const Dict& original, const Module& module) {
  bool same = copied.size() == original.size();
  for (const auto& item : original) same = same && copied.contains(item.key());
  TANDEM_CHECK(same, StateError, "reset() of {} does not register the {} that the module has; register them there",
               module.name(), kind);
}

void copy_tensors(OrderedDict<std::string, Tensor>& copied, const OrderedDict<std::string, Tensor>& original,
                  const std::optional<Device>& device) {
  for (const auto& [name, tensor] : original) {
    Tensor& copy = copied[name];
    if (!tensor.defined()) {
      copy = Tensor();
      continue;
    }
    if (!copy.defined()) {
      copy = copy_of(tensor, device);
    } else {
      copy.set_data(copy_of(tensor, device));
    }
    if (copy.is_leaf()) copy.requires_grad_(tensor.requires_grad());
    copy_float8(copy, tensor, device);
  }
}

}  // namespace

std::shared_ptr<Module> Module::clone(const std::optional<Device>& device) const {
  const OpScope op("clone");
  if (const std::shared_ptr<ResettableModule> copy{new_copy()}) {
    copy->forget_parts();
    copy->cloned_from_ = this;
    copy->reset();
    copy->cloned_from_ = nullptr;
    copy->copy_parts(*this, device);
    return copy;
  }
  TANDEM_THROW(NotImplementedError,
               "{} cannot be cloned; derive it from nn::Cloneable<{}> and register its parts in reset()", name(),
               name());
}

void Module::clone_(const Module& other, const std::optional<Device>& device) { assign(*other.clone(device)); }

void Module::forget_parts() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
  members_.clear();
}

void Module::copy_parts(const Module& original, const std::optional<Device>& device) {
  const OpScope op("clone");
  const NoGradGuard no_grad;
  original.follow_members();
  check_same_keys("parameters", parameters_, original.parameters_, original);
  check_same_keys("buffers", buffers_, original.buffers_, original);
  check_same_keys("submodules", children_, original.children_, original);
  copy_tensors(parameters_, original.parameters_, device);
  copy_tensors(buffers_, original.buffers_, device);
  assign_members();
  for (const auto& [name, child] : original.children_) children_[name]->clone_(*child, device);
}

void Module::register_copies(const Module& original, const std::optional<Device>& device) {
  original.follow_members();
  for (const auto& [name, tensor] : original.parameters_) {
    register_parameter(name, tensor.defined() ? copy_of(tensor, device) : Tensor(),
                       tensor.defined() && tensor.requires_grad());
  }
}

}  // namespace tandem::nn
