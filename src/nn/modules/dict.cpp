#include "tandem/nn/modules/dict.h"

#include <ostream>

#include "tandem/base/check.h"
#include "tandem/tensor/print.h"

namespace tandem::nn {
namespace {

void print_parameters(std::ostream& stream, const char* type, const OrderedDict<std::string, Tensor>& parameters) {
  stream << "tandem::nn::" << type << "(\n";
  for (const auto& [name, x] : parameters) {
    stream << '(' << name << "): Parameter containing: [" << x.dtype() << " of size " << x.sizes() << "]\n";
  }
  stream << ')';
}

}  // namespace

void ModuleDictImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::ModuleDict"; }

std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  copy->clone_(*this, device);
  return copy;
}

void ModuleDictImpl::clone_(const Module& other, const std::optional<Device>& device) {
  const auto& original = static_cast<const ModuleDictImpl&>(other);
  *this = original;
  forget_parts();
  for (const auto& [name, module] : original) insert(name, module->clone(device));
}

std::vector<ModuleDictImpl::Item> ModuleDictImpl::items() const {
  std::vector<Item> items;
  for (const auto& item : children_) items.push_back(item.pair());
  return items;
}
std::vector<std::string> ModuleDictImpl::keys() const { return children_.keys(); }
std::vector<std::shared_ptr<Module>> ModuleDictImpl::values() const { return children_.values(); }

std::shared_ptr<Module> ModuleDictImpl::operator[](const std::string& key) const {
  const OpScope op("ModuleDict");
  return children_[key];
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  const std::shared_ptr<Module> module = (*this)[key];
  unregister_module(key);
  return module;
}

void ModuleDictImpl::insert(const std::string& key, std::shared_ptr<Module> module) {
  if (contains(key)) {
    replace_module(key, std::move(module));
  } else {
    register_module(key, std::move(module));
  }
}

void ModuleDictImpl::update(const std::vector<Item>& modules) {
  for (const auto& [name, module] : modules) insert(name, module);
}
void ModuleDictImpl::update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  for (const auto& [name, module] : modules) insert(name, module);
}

void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterDict", parameters_);
}

std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ParameterDictImpl>();
  copy->clone_(*this, device);
  return copy;
}

void ParameterDictImpl::clone_(const Module& other, const std::optional<Device>& device) {
  *this = static_cast<const ParameterDictImpl&>(other);
  forget_parts();
  register_copies(other, device);
}

Tensor& ParameterDictImpl::insert(const std::string& key, const Tensor& parameter) {
  return register_parameter(key, parameter, parameter.defined() && parameter.requires_grad());
}

Tensor ParameterDictImpl::pop(const std::string& key) {
  const OpScope op("ParameterDict");
  const Tensor parameter = parameters_[key];
  parameters_.erase(key);
  return parameter;
}

void ParameterDictImpl::update(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& [name, parameter] : parameters) {
    if (contains(name)) parameters_.erase(name);
    insert(name, parameter);
  }
}

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterList", parameters_);
}

std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ParameterListImpl>();
  copy->clone_(*this, device);
  return copy;
}

void ParameterListImpl::clone_(const Module& other, const std::optional<Device>& device) {
  *this = static_cast<const ParameterListImpl&>(other);
  forget_parts();
  register_copies(other, device);
}

void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(size()), parameter, parameter.defined() && parameter.requires_grad());
}

ParameterListImpl& ParameterListImpl::operator+=(const ParameterListImpl& other) {
  const std::vector<Tensor> more = other.parameters_.values();  // `other` may be this list
  for (const Tensor& parameter : more) append(parameter);
  return *this;
}

}  // namespace tandem::nn
