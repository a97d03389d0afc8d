#pragma once
// nn::Module: parameters, buffers and submodules under names; the base of every layer and model.
#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/base/ordered_dict.h"
#include "tandem/nn/module_holder.h"
#include "tandem/tensor/options.h"
#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem::nn {

/// Base of models. A model registers what it is made of, then its parameters can be listed, moved and trained:
///
///   struct Net : nn::Module {
///     Net() : fc1(784, 256), fc2(256, 10) { register_module("fc1", fc1); register_module("fc2", fc2); }
///     Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }
///     nn::Linear fc1, fc2;
///   };
///
/// Names of parameters, buffers and submodules are unique within a module, not empty and without dots.
/// A module copies as in libtorch (the copy shares tensors and submodules), unless it has registered submodules that it
/// holds by value: copying or moving it then throws StateError.
class Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;

  Module();
  /// A module that prints under `name` instead of its type's name.
  explicit Module(std::string name);
  virtual ~Module();
  Module(const Module& other);
  Module& operator=(const Module& other);

  /// The name given at construction, else the name of the type.
  const std::string& name() const;

  // ---- registering
  /// Makes `tensor` a parameter and returns it: a leaf that optimizers train. With `requires_grad` false it is a frozen
  /// one. An undefined tensor reserves the name (an absent bias). Throws StateError on a bad or taken name,
  /// AutogradError when an op made the tensor, DTypeError when it cannot require gradients.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// Makes `tensor` a buffer and returns it: it moves and is saved with the module, and is not trained.
  Tensor& register_buffer(std::string name, Tensor tensor);
  /// Adds a submodule and returns it. Throws StateError on a bad or taken name, or a null module.
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_module(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, const ModuleHolder<ModuleType>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// A submodule that is a member by value. It must live as long as this module.
  template <std::derived_from<Module> ModuleType>
  ModuleType& register_module(std::string name, ModuleType& module) {
    add_module(std::move(name), std::shared_ptr<Module>(std::shared_ptr<Module>(), &module));
    return module;
  }
  /// Puts another submodule under a name that is there. Throws StateError when it is not.
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    exchange_module(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, const ModuleHolder<ModuleType>& holder) {
    return replace_module(name, holder.ptr());
  }
  /// These throw StateError when nothing of the kind has that name.
  void unregister_module(const std::string& name);
  void unregister_parameter(const std::string& name);
  void unregister_buffer(const std::string& name);

  // ---- listing. A tensor or module that is reached under several names is listed once, under the first of them.
  std::vector<Tensor> parameters(bool recurse = true) const;
  /// Keys such as "fc1.weight".
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// This module and all below it. Throws StateError with `include_self` when this module is not held by a shared_ptr.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  // ---- walking: this module first, then those below it. An empty function throws StateError.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = {}) const;

  // ---- modes
  /// Training mode, which dropout and batch norm ask for, on or off, also in all submodules.
  virtual void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const noexcept { return training_; }

  /// What is put around forward() where this module is called through a holder, a container or nn::call; null: nothing.
  const std::shared_ptr<const CallHook>& call_hook() const noexcept { return call_hook_; }
  void set_call_hook(std::shared_ptr<const CallHook> hook) { call_hook_ = std::move(hook); }

  // ---- moving: parameters and buffers keep their identity, so optimizers and shared handles go along; gradients move
  // too. A dtype (floating, else DTypeError) changes floating tensors only.
  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  void to(DeviceType device, bool non_blocking = false) { to(Device(device), non_blocking); }
  /// Tensors of rank 4 take that order of elements, the others stay: `net->to(MemoryFormat::ChannelsLast)`.
  virtual void to(MemoryFormat format);
  void cpu() { to(Device(kCPU)); }
  void cuda() { to(Device(kCUDA)); }

  // ---- saving and loading
  /// All parameters and buffers by name, detached, sharing memory with the module. As in PyTorch a tensor that is
  /// reached under several names is listed under each of them.
  virtual StateDict state_dict() const;
  /// Copies the values of `state` into the parameters and buffers, which keep their memory, device and dtype (floating
  /// values are converted). Throws StateError, and changes nothing, when sizes or kinds of dtype differ, or, if
  /// `strict`, keys are missing or unexpected; all misfits are listed. Otherwise returns those keys.
  IncompatibleKeys load_state_dict(const StateDict& state, bool strict = true);
  /// The checks of load_state_dict; what it returns does the rest.
  StateCommit prepare_load_state_dict(const StateDict& state, bool strict = true);

  /// Drops the gradients of all parameters, or fills them with zeros.
  virtual void zero_grad(bool set_to_none = true);

  // ---- types
  /// This module as a `ModuleType` (or as the module that the holder `ModuleType` holds), or null.
  template <class ModuleType>
  auto as() noexcept {
    if constexpr (requires { typename ModuleType::ContainedType; }) {
      return dynamic_cast<typename ModuleType::ContainedType*>(this);
    } else {
      return dynamic_cast<ModuleType*>(this);
    }
  }
  template <class ModuleType>
  auto as() const noexcept {
    if constexpr (requires { typename ModuleType::ContainedType; }) {
      return dynamic_cast<const typename ModuleType::ContainedType*>(this);
    } else {
      return dynamic_cast<const ModuleType*>(this);
    }
  }

  /// Writes this module's line, without its submodules: by default its name.
  virtual void pretty_print(std::ostream& stream) const;
  /// The module as a tree of lines, in libtorch's form.
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

 protected:
  OrderedDict<std::string, Tensor> parameters_;
  OrderedDict<std::string, Tensor> buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;

 private:
  void check_name(const char* op, const std::string& name) const;
  void check_copyable() const;
  void add_module(std::string name, std::shared_ptr<Module> module);
  void exchange_module(const std::string& name, std::shared_ptr<Module> module);
  void move_tensors(const std::function<Tensor(const Tensor&)>& moved);
  void add_state(StateDict& state, const std::string& path) const;
  void print_tree(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> checked_shared() const;

  mutable std::optional<std::string> name_;
  bool training_ = true;
  std::shared_ptr<const CallHook> call_hook_ = default_call_hook();
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

/// Base of modules that initialise themselves in reset(), as in libtorch.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  /// Makes parameters and buffers anew.
  virtual void reset() = 0;
};

template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& module) {
  return stream << static_cast<const Module&>(*module);
}

}  // namespace tandem::nn
