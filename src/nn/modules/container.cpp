#include "tandem/nn/modules/container.h"

#include "src/nn/text-inl.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/check.h"
#include "tandem/nn/modules/activation.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/ops/conv.h"
#include "tandem/ops/matmul.h"

namespace tandem::nn {

namespace {

void check_position(size_t index, size_t size) {
  TANDEM_CHECK(index < size, IndexError, "there is no module {}; the size is {}, and indices start at 0", index, size);
}

template <class M>
M* exactly(Module* module) {
  return typeid(*module) == typeid(M) ? static_cast<M*>(module) : nullptr;
}

/// Whether autocast treats `op` followed by relu in the same way as the fused op.
bool has_policy_of(const char* op, const char* fused) {
  return amp::get_policy(op) == amp::get_policy(fused) && amp::get_policy("relu") == amp::Cast::keep;
}

/// second(first(x)) as one op with the same bits. Undefined if there is no such op, or if a hook would miss the
/// tensor between the two.
Tensor forward_fused(Module* first, Module* second, const Tensor& x) {
  if (!exactly<ReLUImpl>(second) || detail::has_hooks(*first) || detail::has_hooks(*second)) return {};
  if (const auto* m = exactly<LinearImpl>(first); m && has_policy_of("linear", "linear_relu")) {
    return linear_relu(x, m->weight, m->bias);
  }
  if (const auto* m = exactly<Conv2dImpl>(first);
      m && !m->options.padding().is_same() && has_policy_of("conv2d", "conv2d_relu")) {
    const Conv2dOptions& o = m->options;
    return conv2d_relu(x, m->weight, m->bias, o.stride(), o.padding().sizes(), o.dilation(), o.groups());
  }
  return {};
}

}  // namespace

namespace detail {

void throw_wrong_module(const std::string& actual, const std::type_info& wanted) {
  TANDEM_THROW(StateError, "the module is {}, not {}; request its own type", actual, type_name(wanted));
}

void throw_argument_count(const std::string& module, size_t count) {
  const OpScope op("AnyModule");
  TANDEM_THROW(StateError, "forward() of {} does not take {} tensors; pass as many as it takes", module, count);
}

void throw_empty_any_module() {
  const OpScope op("AnyModule");
  TANDEM_THROW(StateError, "it contains no module (null or default-constructed); give it one");
}

}  // namespace detail

AnyModule AnyModule::clone(const std::optional<Device>& device) const {
  AnyModule copy = *this;
  if (module_) copy.module_ = module_->clone(device);
  return copy;
}

FunctionalImpl::FunctionalImpl(Function function) : function_(std::move(function)) {
  const OpScope op("Functional");
  TANDEM_CHECK(function_, StateError, "the function is empty; pass one that takes a tensor and returns one");
}

Tensor FunctionalImpl::forward(const Tensor& input) { return function_(input); }

void FunctionalImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Functional()"; }

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> named_modules) {
  modules_.reserve(named_modules.size());
  for (const NamedAnyModule& m : named_modules) push_back(m.name(), m.module());
}

SequentialImpl::SequentialImpl(const OrderedDict<std::string, AnyModule>& named_modules) {
  modules_.reserve(named_modules.size());
  for (const auto& m : named_modules) push_back(m.key(), m.value());
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  copy->clone_(*this, device);
  return copy;
}

void SequentialImpl::clone_(const Module& other, const std::optional<Device>& device) {
  const auto& original = static_cast<const SequentialImpl&>(other);
  *this = original;
  forget_parts();
  modules_.clear();
  for (size_t i = 0; i < original.size(); ++i) {
    push_back(original.children_[i].key(), original.modules_[i].clone(device));
  }
}

Tensor SequentialImpl::run(TensorList inputs) {
  if (is_empty()) {
    const OpScope op("Sequential");
    TANDEM_THROW(StateError, "it contains no modules; push_back() some before forward()");
  }
  Tensor x = inputs[0];
  for (size_t i = 0; i < modules_.size(); ++i) {
    Tensor fused;
    const bool takes_all = i == 0 && inputs.size() > 1;
    if (i + 1 < modules_.size() && !takes_all)
      fused = forward_fused(modules_[i].ptr().get(), modules_[i + 1].ptr().get(), x);
    if (fused.defined()) ++i;
    x = fused.defined() ? fused : takes_all ? modules_[0].forward(inputs) : modules_[i].forward(x);
  }
  return x;
}

void SequentialImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Sequential"; }

void SequentialImpl::push_back(AnyModule module) { push_back(std::to_string(modules_.size()), std::move(module)); }

void SequentialImpl::push_back(std::string name, AnyModule module) {
  if (module.is_empty()) detail::throw_empty_any_module();
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

const AnyModule& SequentialImpl::checked(size_t index) const {
  const OpScope op("Sequential");
  check_position(index, modules_.size());
  return modules_[index];
}

void ModuleListImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::ModuleList"; }

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  copy->clone_(*this, device);
  return copy;
}

void ModuleListImpl::clone_(const Module& other, const std::optional<Device>& device) {
  const auto& original = static_cast<const ModuleListImpl&>(other);
  *this = original;
  forget_parts();
  modules_.clear();
  for (const auto& module : original.modules_) push_back(module->clone(device));
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  {
    const OpScope op("ModuleList");
    TANDEM_CHECK(index <= modules_.size(), IndexError,
                 "cannot insert at {}, because the size is {}; use an index from 0 to the size", index,
                 modules_.size());
    TANDEM_CHECK(module, StateError, "cannot insert null; construct the module first");
  }
  register_module(std::to_string(modules_.size()), module);  // throws if the module contains this list
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (size_t i = 0; i < modules_.size(); ++i) children_.insert(std::to_string(i), modules_[i]);
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  const OpScope op("ModuleList");
  check_position(index, modules_.size());
  return modules_[index];
}

}  // namespace tandem::nn
