#include "tandem/nn/module.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/autograd/zero_grad.h"
#include "src/nn/text-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem {

namespace nn {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : name.empty() ? prefix : prefix + "." + name;
}

/// Calls visit(path, module) once for `module` and for each module below it.
template <class M, class Visit>
void walk(M& module, const OrderedDict<std::string, std::shared_ptr<Module>>& (*children)(M&), const std::string& path,
          std::unordered_set<const Module*>& seen, const Visit& visit) {
  if (!seen.insert(&module).second) return;
  visit(path, module);
  for (const auto& child : children(module)) walk<M>(*child.value(), children, join(path, child.key()), seen, visit);
}

Tensor converted(const Tensor& t, std::optional<Device> device, std::optional<DType> dtype, bool non_blocking) {
  const DType target = dtype && is_differentiable(t.dtype()) ? *dtype : t.dtype();
  return tandem::to(t, device.value_or(t.device()), target, non_blocking);
}

}  // namespace

namespace detail {
void throw_empty_holder(const char* type) {
  const OpScope op("ModuleHolder");
  // "... [with Contained = tandem::nn::LinearImpl]"
  std::string_view text(type);
  const size_t at = text.find("Contained = ");
  if (at != std::string_view::npos) text = text.substr(at + 12, text.find_first_of(";]", at) - at - 12);
  TANDEM_THROW(StateError, "the holder of {} is empty (nullptr); assign a module first", text);
}
}  // namespace detail

Module::Module() : parameters_("Parameter"), buffers_("Buffer"), children_("Submodule") {}

Module::Module(std::string name) : Module() { name_ = std::move(name); }

Module::~Module() = default;

Module::Module(const Module& other)
    : enable_shared_from_this(other),
      parameters_(other.parameters_),
      buffers_(other.buffers_),
      children_((other.check_copyable(), other.children_)),
      name_(other.name_),
      training_(other.training_),
      call_hook_(other.call_hook_),
      forward_hooks_(other.forward_hooks_),
      members_(other.members_) {}

Module& Module::operator=(const Module& other) {
  if (this == &other) return *this;
  check_copyable();
  other.check_copyable();
  parameters_ = other.parameters_;
  buffers_ = other.buffers_;
  children_ = other.children_;
  name_ = other.name_;
  training_ = other.training_;
  call_hook_ = other.call_hook_;
  forward_hooks_ = other.forward_hooks_;
  members_ = other.members_;
  return *this;
}

// A child held by value is not owned by a shared_ptr: its copy has another address, but the copied registration would
// still refer to the original.
void Module::check_copyable() const {
  for (const auto& child : children_) {
    if (child.value().use_count() > 0) continue;
    const OpScope op(name().c_str());
    TANDEM_THROW(StateError,
                 "cannot be copied or moved, because its submodule '{}' is registered by value; hold the submodule in "
                 "a ModuleHolder (TANDEM_MODULE) or a shared_ptr",
                 child.key());
  }
}

const std::string& Module::name() const {
  if (!name_) name_ = type_name(typeid(*this));
  return *name_;
}

namespace {

/// A cycle would make every walk over the tree endless.
void check_no_cycle(const std::string& name, const Module& parent, const Module& child) {
  const auto inside = child.modules(/*include_self=*/false);
  const bool cycle = &child == &parent || std::any_of(inside.begin(), inside.end(),
                                                      [&](const auto& module) { return module.get() == &parent; });
  TANDEM_CHECK(!cycle, StateError, "'{}' is the module itself, or contains it; register a copy", name);
}

}  // namespace

void Module::check_name(const std::string& name) const {
  TANDEM_CHECK(!name.empty(), StateError, "the name is empty; give it one");
  TANDEM_CHECK(name.find('.') == std::string::npos, StateError,
               "'{}' has a dot, which separates the names of submodules; use a name without dots", name);
  const char* taken = parameters_.contains(name) ? "a parameter"
                      : buffers_.contains(name)  ? "a buffer"
                      : children_.contains(name) ? "a submodule"
                                                 : nullptr;
  TANDEM_CHECK(!taken, StateError,
               "'{}' is already the name of {} of this module; choose another, or unregister the old one first", name,
               taken);
}

namespace {
/// A copy of a tensor that is the original module's, too.
Tensor unshared(Tensor tensor, const std::string& name, const OrderedDict<std::string, Tensor>& originals) {
  const Tensor* const original = originals.find(name);
  return original && original->is_same(tensor) && tensor.defined() ? tensor.detach().clone() : tensor;
}
}  // namespace

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  const OpScope op("register_parameter");
  check_name(name);
  if (cloned_from_) tensor = unshared(std::move(tensor), name, cloned_from_->parameters_);
  if (tensor.defined()) {
    TANDEM_CHECK(tensor.is_leaf(), AutogradError,
                 "'{}' {} is the result of an op; only leaves can be parameters: detach() it", name,
                 checks::show(tensor));
    TANDEM_CHECK(!requires_grad || is_differentiable(tensor.dtype()), DTypeError,
                 "'{}' {} cannot require gradients, only floating tensors can; convert it with .to(kFloat), pass "
                 "requires_grad = false, or use register_buffer",
                 name, checks::show(tensor));
    tensor.set_requires_grad(requires_grad);
    tensor.impl().is_parameter = true;
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  const OpScope op("register_buffer");
  check_name(name);
  if (cloned_from_) tensor = unshared(std::move(tensor), name, cloned_from_->buffers_);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_module(std::string name, std::shared_ptr<Module> module) {
  const OpScope op("register_module");
  check_name(name);
  TANDEM_CHECK(module, StateError, "'{}' is null; construct the module first", name);
  check_no_cycle(name, *this, *module);
  children_.insert(std::move(name), std::move(module));
}

void Module::exchange_module(const std::string& name, std::shared_ptr<Module> module) {
  const OpScope op("replace_module");
  std::shared_ptr<Module>* present = children_.find(name);
  TANDEM_CHECK(present, StateError, "there is no submodule '{}'; register_module adds one", name);
  TANDEM_CHECK(module, StateError, "the new '{}' is null; construct it first", name);
  check_no_cycle(name, *this, *module);
  *present = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  const OpScope op("unregister_module");
  TANDEM_CHECK(children_.contains(name), StateError,
               "there is no submodule '{}'; named_children() lists the existing ones", name);
  children_.erase(name);
}

// ---- walking

namespace {
/// The scope ends before `function`, which is the user's, runs.
template <class Function>
void check_function(const Function& function) {
  const OpScope op("Module::apply");
  TANDEM_CHECK(function, StateError, "the function is empty; pass one that takes a module");
}
}  // namespace

void Module::apply(const ModuleApplyFunction& function) {
  check_function(function);
  apply(NamedModuleApplyFunction([&](const std::string&, Module& m) { function(m); }));
}

void Module::apply(const ConstModuleApplyFunction& function) const {
  check_function(function);
  apply(ConstNamedModuleApplyFunction([&](const std::string&, const Module& m) { function(m); }));
}

void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  check_function(function);
  std::unordered_set<const Module*> seen;
  walk<Module>(
      *this, [](Module & m) -> const auto& { return m.children_; }, name_prefix, seen, function);
}

void Module::apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix) const {
  check_function(function);
  std::unordered_set<const Module*> seen;
  walk<const Module>(
      *this, [](const Module& m) -> const auto& { return m.children_; }, name_prefix, seen, function);
}

// ---- listing

namespace {

/// The defined tensors of one kind in `module` and, with `recurse`, in the modules below it, each once.
template <class Pick>
OrderedDict<std::string, Tensor> list_tensors(const Module& module, bool recurse, const Pick& pick, const char* what) {
  OrderedDict<std::string, Tensor> result(what);
  std::unordered_set<const TensorImpl*> seen;
  const auto add = [&](const std::string& path, const Module& m) {
    for (const auto& item : pick(m)) {
      if (item.value().defined() && seen.insert(item.value().impl_ptr().get()).second) {
        result.insert(join(path, item.key()), item.value());
      }
    }
  };
  if (recurse) {
    module.apply(Module::ConstNamedModuleApplyFunction(add));
  } else {
    add("", module);
  }
  return result;
}

}  // namespace

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  return list_tensors(
      *this, recurse, [](const Module& m) -> const auto& {
        m.follow_members();
        return m.parameters_;
      },
      "Parameter");
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  return list_tensors(
      *this, recurse, [](const Module& m) -> const auto& {
        m.follow_members();
        return m.buffers_;
      },
      "Buffer");
}

std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }

std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

std::shared_ptr<Module> Module::checked_shared() const {
  auto self = const_cast<Module*>(this)->weak_from_this().lock();
  TANDEM_CHECK(self, StateError,
               "this {} is not owned by a shared_ptr, so it cannot return one; create it with std::make_shared or in a "
               "ModuleHolder, or pass include_self = false",
               name());
  return self;
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  const OpScope op("named_modules");
  OrderedDict<std::string, std::shared_ptr<Module>> result("Module");
  std::unordered_set<const Module*> seen{this};
  if (include_self) result.insert(name_prefix, checked_shared());
  const std::function<void(const Module&, const std::string&)> add_below = [&](const Module& m,
                                                                               const std::string& path) {
    for (const auto& child : m.children_) {
      if (!seen.insert(child.value().get()).second) continue;
      const std::string key = join(path, child.key());
      result.insert(key, child.value());
      add_below(*child.value(), key);
    }
  };
  add_below(*this, name_prefix);
  return result;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  const OpScope op("modules");
  return named_modules({}, include_self).values();
}

std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

// ---- modes, moving, gradients

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  training_ = on;
}

/// Replaces each parameter, buffer and gradient by `moved(t)`.
void Module::move_tensors(const std::function<Tensor(const Tensor&)>& moved) {
  const OpScope op("Module::to");
  NoGradGuard no_grad;
  const auto move = [&](const Tensor& t) {
    if (!t.defined()) return;
    Tensor now = moved(t);
    if (now.is_same(t)) return;
    t.set_data(now);
    if (t.grad().defined()) autograd::replace_gradient(t, moved(t.grad()));
  };
  follow_members();
  for (const auto& parameter : parameters_) move(parameter.value());
  for (const auto& buffer : buffers_) move(buffer.value());
}

namespace {
void check_target(DType dtype) {
  const OpScope op("Module::to");
  TANDEM_CHECK(is_differentiable(dtype), DTypeError,
               "a module's dtype must be floating and not float8, but is {}; use kFloat, kDouble, kHalf or kBFloat16",
               name(dtype));
}
}  // namespace

void Module::to(Device device, DType dtype, bool non_blocking) {
  check_target(dtype);
  for (auto& child : children_) child.value()->to(device, dtype, non_blocking);
  move_tensors([=](const Tensor& t) { return converted(t, device, dtype, non_blocking); });
}

void Module::to(DType dtype, bool non_blocking) {
  check_target(dtype);
  for (auto& child : children_) child.value()->to(dtype, non_blocking);
  move_tensors([=](const Tensor& t) { return converted(t, {}, dtype, non_blocking); });
}

void Module::to(Device device, bool non_blocking) {
  for (auto& child : children_) child.value()->to(device, non_blocking);
  move_tensors([=](const Tensor& t) { return converted(t, device, {}, non_blocking); });
}

void Module::to(MemoryFormat format) {
  for (auto& child : children_) child.value()->to(format);
  move_tensors([=](const Tensor& t) {
    return t.dim() == 4 ? tandem::to(t, t.device(), t.dtype(), /*non_blocking=*/false, /*copy=*/false, format) : t;
  });
}

namespace {
// Names of the state of delayed scaling in float8 that belongs to a parameter, and of the mark that its last row has an
// amax from which the scale was not computed yet.
std::string float8_name(const std::string& parameter) { return parameter + "._fp8"; }
std::string float8_noted_name(const std::string& parameter) { return parameter + "._fp8_noted"; }
}  // namespace

void Module::add_state(StateDict& state, const std::string& path) const {
  follow_members();
  for (const auto* tensors : {&parameters_, &buffers_}) {
    for (const auto& item : *tensors) {
      if (item.value().defined()) state.insert(join(path, item.key()), item.value());
    }
  }
  for (const auto& child : children_) child.value()->add_state(state, join(path, child.key()));
}

StateDict Module::state_dict() const {
  StateDict state("Entry");
  add_state(state, "");
  for (const auto& [name, parameter] : named_parameters()) {
    const std::shared_ptr<WeightFloat8> float8 = find_weight_float8(parameter);
    if (!float8 || !float8->delayed.defined()) continue;
    state.insert(float8_name(name), float8->delayed);
    if (float8->gradient_noted != 0) {
      state.insert(float8_noted_name(name), full({}, true, TensorOptions(kBool).device(kCPU)));
    }
  }
  for (auto& item : state) item.value() = item.value().detach();
  return state;
}

namespace {

/// The new state of float8 of a parameter.
struct Float8Copy {
  Tensor parameter, state;
  bool noted;
};

/// Destination and source tensors of the entries of a state.
struct Copies {
  std::vector<std::pair<Tensor, Tensor>> tensors;
  std::vector<Float8Copy> float8;
};

Copies checked_copies(const StateDict& own, const Module& module, StateReader& reader, bool strict) {
  Copies copies;
  for (const auto& item : own) {
    if (const Tensor* given = reader.fitting(item.key(), item.value())) {
      copies.tensors.emplace_back(item.value(), *given);
    }
  }
  for (const auto& [name, parameter] : module.named_parameters()) {
    const Tensor* given = reader.find_if_present(float8_name(name));
    if (!given) continue;
    const Tensor* noted = reader.find_if_present(float8_noted_name(name));
    if (noted && noted->numel() != 1) {
      reader.add_fault(
          fmt::format("'{}' is {}; it must have one element", float8_noted_name(name), checks::show(*noted)));
      noted = nullptr;
    }
    copies.float8.push_back({parameter, *given, noted && noted->item<bool>()});
    if (given->dtype() == kFloat && given->dim() == 2 && given->size(0) == kDelayedRows && given->size(1) > 1) continue;
    reader.add_fault(fmt::format("'{}' is {}; it must be [{}, 1 + history length] f32", float8_name(name),
                                 checks::show(*given), kDelayedRows));
  }
  reader.finish(strict);
  return copies;
}

void run(const Copies& copies) {
  const OpScope op("load_state_dict");
  NoGradGuard no_grad;
  for (const auto& [to, from] : copies.tensors) to.copy_(from);
  for (const auto& [parameter, state, noted] : copies.float8) {
    const std::shared_ptr<WeightFloat8> own = weight_float8(parameter);
    Tensor& kept = own->delayed;
    if (kept.defined() && kept.sizes() == state.sizes() && kept.device() == parameter.device()) {
      kept.copy_(state);  // graphs use this memory
    } else {
      kept = state.to(parameter.device(), kFloat, false, /*copy=*/true).contiguous();
    }
    own->gradient_noted = noted ? WeightFloat8::kEarlierRun : 0;
  }
}

}  // namespace

IncompatibleKeys Module::load_state_dict(const StateDict& state, bool strict) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  StateDict own;
  add_state(own, "");
  run(checked_copies(own, *this, reader, strict));
  return reader.incompatible_keys();
}

StateCommit Module::prepare_load_state_dict(const StateDict& state, bool strict) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  StateDict own;
  add_state(own, "");
  return [copies = checked_copies(own, *this, reader, strict)] { run(copies); };
}

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);  // outside the scope: may be the user's
  const OpScope op("Module::zero_grad");
  follow_members();
  for (auto& parameter : parameters_) autograd::zero_grad(parameter.value(), set_to_none);
}

// ---- printing

void Module::pretty_print(std::ostream& stream) const { stream << name(); }

void Module::print_tree(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string inner = indentation + "  ";
  for (const auto& child : children_) {
    stream << inner << "(" << child.key() << "): ";
    child.value()->print_tree(stream, inner);
    stream << '\n';
  }
  stream << indentation << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print_tree(stream, "");
  return stream;
}

}  // namespace nn
}  // namespace tandem
