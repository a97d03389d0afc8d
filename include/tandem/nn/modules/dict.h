#pragma once
// ModuleDict, ParameterDict, ParameterList.
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/modules/any.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Modules by name, in the order in which they were added. It has no forward(); the owner calls the modules.
class ModuleDictImpl : public Module {
 public:
  using Item = std::pair<std::string, std::shared_ptr<Module>>;
  using Iterator = OrderedDict<std::string, std::shared_ptr<Module>>::Iterator;
  using ConstIterator = OrderedDict<std::string, std::shared_ptr<Module>>::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<Item>& modules) { update(modules); }
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) { update(modules); }
  void reset() {}
  void pretty_print(std::ostream& stream) const override;
  /// The copy's modules are clones.
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  std::vector<Item> items() const;
  std::vector<std::string> keys() const;
  std::vector<std::shared_ptr<Module>> values() const;
  Iterator begin() { return children_.begin(); }
  ConstIterator begin() const { return children_.begin(); }
  Iterator end() { return children_.end(); }
  ConstIterator end() const { return children_.end(); }
  size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  /// Whether there is a module with this key.
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }
  /// Removes all modules.
  void clear() { children_.clear(); }

  /// These throw IndexError if there is no such key; at() throws StateError for a module of another type.
  std::shared_ptr<Module> operator[](const std::string& key) const;
  template <class M>
  auto& at(const std::string& key) const {
    const OpScope op("ModuleDict");
    return detail::module_as<M>((*this)[key].get());
  }
  /// Removes the module and returns it. Throws IndexError if there is none.
  std::shared_ptr<Module> pop(const std::string& key);
  /// Adds a module, or replaces the one with this key. Throws StateError for a null module or an invalid name.
  void insert(const std::string& key, std::shared_ptr<Module> module);
  template <class Contained>
  void insert(const std::string& key, const ModuleHolder<Contained>& holder) {
    insert(key, std::shared_ptr<Module>(holder.ptr()));
  }
  /// Inserts all modules of a list or dictionary.
  void update(const std::vector<Item>& modules);
  void update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);

 protected:
  void clone_(const Module& other, const std::optional<Device>& device) override;
};
TANDEM_MODULE(ModuleDict);

/// Parameters by name, in the order in which they were added.
class ParameterDictImpl : public Module {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) { update(parameters); }
  void reset() {}
  void pretty_print(std::ostream& stream) const override;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  /// Registers `parameter`, which keeps its requires_grad. Throws as register_parameter does.
  Tensor& insert(const std::string& key, const Tensor& parameter);
  /// Removes the parameter and returns it. Throws IndexError if there is none.
  Tensor pop(const std::string& key);
  /// Adds all entries of a dictionary; keys that exist get the new tensors.
  void update(const OrderedDict<std::string, Tensor>& parameters);
  void update(const ParameterDictImpl& other) { update(other.parameters_); }

  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<Tensor> values() const { return parameters_.values(); }
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }
  /// Whether there is a parameter with this key.
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  /// Removes all parameters.
  void clear() { parameters_.clear(); }

  /// These throw IndexError if there is no such key.
  Tensor& get(const std::string& key) { return parameters_[key]; }
  const Tensor& get(const std::string& key) const { return parameters_[key]; }
  Tensor& operator[](const std::string& key) { return parameters_[key]; }
  const Tensor& operator[](const std::string& key) const { return parameters_[key]; }

 protected:
  void clone_(const Module& other, const std::optional<Device>& device) override;
};
TANDEM_MODULE(ParameterDict);

/// A list of parameters, registered as "0", "1", ...
class ParameterListImpl : public Module {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <std::convertible_to<Tensor>... T>
  requires(sizeof...(T) > 0) explicit ParameterListImpl(const T&... parameters) { (append(parameters), ...); }
  void reset() {}
  void pretty_print(std::ostream& stream) const override;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  /// Registers `parameter`, which keeps its requires_grad.
  void append(const Tensor& parameter);
  /// Appends all parameters of `container`.
  template <class Container>
  void extend(const Container& container) {
    for (const auto& parameter : container) append(parameter);
  }
  ParameterListImpl& operator+=(const ParameterListImpl& other);

  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }
  /// Throw IndexError beyond the end.
  Tensor& at(size_t index) { return parameters_[index].value(); }
  const Tensor& at(size_t index) const { return parameters_[index].value(); }
  Tensor& operator[](size_t index) { return at(index); }
  const Tensor& operator[](size_t index) const { return at(index); }

 protected:
  void clone_(const Module& other, const std::optional<Device>& device) override;
};
TANDEM_MODULE(ParameterList);

}  // namespace tandem::nn
#pragma GCC visibility pop
