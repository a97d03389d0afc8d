#pragma once
// nn::Module: named parameters, buffers and submodules; the base class of all layers and models.
#include <concepts>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/base/macros.h"
#include "tandem/base/ordered_dict.h"
#include "tandem/nn/forward_hooks.h"
#include "tandem/nn/module_holder.h"
#include "tandem/tensor/options.h"
#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::nn {

class ResettableModule;

namespace detail {
/// Neither a module nor a handle of one.
template <class T>
concept NotAModule = !std::derived_from<T, Module> && !std::convertible_to<T, std::shared_ptr<Module>> && !requires {
  typename T::ContainedType;
};
}  // namespace detail

/// Base class of layers and models. A model registers its parts; its parameters can then be listed, moved and trained:
///
///   struct Net : nn::Module {
///     Net() : fc1(784, 256), fc2(256, 10) { register_module("fc1", fc1); register_module("fc2", fc2); }
///     Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }
///     nn::Linear fc1, fc2;
///   };
///
/// Names of parameters, buffers and submodules must be unique within a module, not empty, and without dots.
/// As in libtorch, a copy of a module shares its tensors and submodules. Copying or moving a module with registered
/// submodules that are members by value throws StateError.
class Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;

  Module();
  /// Makes a module that is printed with `name` instead of the name of its type.
  explicit Module(std::string name);
  virtual ~Module();
  Module(const Module& other);
  Module& operator=(const Module& other);

  /// Returns the name given at construction, else the name of the type.
  const std::string& name() const;

  // ---- registering
  /// Makes `tensor` a parameter, that is a leaf for optimizers to train, and returns it. It is frozen if
  /// `requires_grad` is false. An undefined tensor reserves the name (such as an absent bias). Throws StateError for an
  /// invalid or used name, AutogradError if the tensor is the result of an op, DTypeError if it cannot require
  /// gradients.
  ///
  /// The module keeps its own handle to the tensor. As in libtorch, a tensor that is later assigned to a member of a
  /// model changes what forward() uses, but neither parameters() nor files. The members of tandem's layers, and those
  /// that a model registers by reference (below), are followed: after `head->weight = embedding->weight`, the head
  /// lists, moves and saves the embedding's weight.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// Makes `tensor` a buffer, which is moved and saved with the module but not trained, and returns it.
  Tensor& register_buffer(std::string name, Tensor tensor);
  /// Adds a submodule and returns it. Throws StateError for an invalid or used name, or a null module.
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_module(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, const ModuleHolder<ModuleType>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// Adds a submodule that is a member by value. It must live as long as this module.
  template <std::derived_from<Module> ModuleType>
  ModuleType& register_module(std::string name, ModuleType& module) {
    add_module(std::move(name), std::shared_ptr<Module>(std::shared_ptr<Module>(), &module));
    return module;
  }
  /// Does not compile: the argument is not a module.
  template <detail::NotAModule Other>
  TANDEM_UNAVAILABLE("register_module() needs a module: wrap a function, as in nn::Functional(relu)")
  void register_module(std::string name, const Other& other);
  /// Replaces the submodule with this name. Throws StateError if there is none.
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    exchange_module(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, const ModuleHolder<ModuleType>& holder) {
    return replace_module(name, holder.ptr());
  }
  /// These throw StateError if there is no such submodule, parameter or buffer.
  void unregister_module(const std::string& name);
  void unregister_parameter(const std::string& name);
  void unregister_buffer(const std::string& name);

  // ---- listing: a tensor or module with several names is listed once, with the first of them
  std::vector<Tensor> parameters(bool recurse = true) const;
  /// Keys such as "fc1.weight".
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  /// Returns the buffers of this module and, if `recurse`, of its submodules; keys such as "bn1.running_mean".
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// Returns all submodules, recursively, and this module if `include_self`. In that case, throws StateError unless
  /// this module is held by a shared_ptr.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  // ---- traversal: this module first, then its submodules, recursively. An empty function throws StateError.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = {}) const;
  void apply(const ModulePointerApplyFunction& function) {
    for (const auto& module : modules()) function(module);
  }

  // ---- modes
  /// Sets training mode, on which dropout and batch norm depend, for this module and all its submodules.
  virtual void train(bool on = true);
  /// train(false).
  void eval() { train(false); }
  bool is_training() const noexcept { return training_; }

  // ---- hooks, which run when this module is called through a holder, a container or nn::call, not by forward()
  /// Registers a function that is called before forward() and may replace its tensor arguments:
  /// `net->fc->register_forward_pre_hook([](nn::Module&, std::vector<Tensor>& inputs) { inputs[0] = inputs[0] * 2; })`.
  /// Returns a handle for remove_forward_hook(), which takes the hook's name as well. Copies of the module have the
  /// hooks, too. Throws StateError for an empty function, and for a name that another hook has.
  unsigned register_forward_pre_hook(ForwardPreHook hook, std::string name = {});
  /// The same after forward(), with the arguments and the results, which the hook may replace:
  /// `[&](nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) { seen = outputs[0]; }`.
  unsigned register_forward_hook(ForwardHook hook, std::string name = {});
  /// Throws StateError if there is no such hook.
  void remove_forward_hook(unsigned handle);
  void remove_forward_hook(const std::string& hook);
  const std::shared_ptr<const ForwardHooks>& forward_hooks() const noexcept { return forward_hooks_; }

  /// The code of a mode of mixed precision around forward(); may be null. Runs within the hooks above.
  const std::shared_ptr<const CallHook>& call_hook() const noexcept { return call_hook_; }
  void set_call_hook(std::shared_ptr<const CallHook> hook) { call_hook_ = std::move(hook); }

  // ---- moving: parameters and buffers keep their identity, so optimizers and shared handles stay valid. Gradients are
  // moved too. A dtype changes only floating tensors, and throws DTypeError unless it is floating itself.
  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  void to(DeviceType device, bool non_blocking = false) { to(Device(device), non_blocking); }
  /// Converts tensors of rank 4 to this memory format: `net->to(MemoryFormat::ChannelsLast)`.
  virtual void to(MemoryFormat format);
  /// The same as to(kCPU) and to(kCUDA).
  void cpu() { to(Device(kCPU)); }
  void cuda() { to(Device(kCUDA)); }

  // ---- saving and loading
  /// Returns all parameters and buffers by name, detached, sharing memory with the module. As in PyTorch, a tensor with
  /// several names is listed with each of them.
  virtual StateDict state_dict() const;
  /// Copies the values of `state` to the parameters and buffers, which keep their memory, device and dtype (floating
  /// values are converted). Throws StateError, and changes nothing, if sizes or kinds of dtype differ, or, if `strict`,
  /// keys are missing or unexpected; the message lists all mismatches. Returns the missing and unexpected keys.
  IncompatibleKeys load_state_dict(const StateDict& state, bool strict = true);
  /// Does the checks of load_state_dict. The returned function copies the values.
  StateCommit prepare_load_state_dict(const StateDict& state, bool strict = true);

  /// Removes the gradients of all parameters, or fills them with zeros.
  virtual void zero_grad(bool set_to_none = true);

  // ---- copying
  /// Returns a deep copy, on `device` if given: parameters, buffers and submodules of its own, with the same values. As
  /// in libtorch, the copy is made by the copy constructor and reset(). Throws NotImplementedError for a module that
  /// does not derive from Cloneable; StateError if reset() registers other parts than the module has.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  // ---- archives (io/archive.h). tandem::save(module, path) and load(module, path) call these.
  /// Writes state_dict(). A class that keeps more than tensors, or another format, overrides both functions. In the
  /// archive of a module, a submodule that overrides save() writes its entries itself.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Loads the entries of this module as load_state_dict() does, and ignores others. Then calls load() of the
  /// submodules.
  virtual void load(serialize::InputArchive& archive);
  TANDEM_UNAVAILABLE("use tandem::save(module, path)") void save(const std::string& path) const;
  TANDEM_UNAVAILABLE("use tandem::load(module, path)") void load(const std::string& path);

  // ---- types
  /// Returns this module as a `ModuleType` (for a holder type, as the module type that it holds), or null.
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

  /// Prints this module's line, without its submodules; by default its name.
  virtual void pretty_print(std::ostream& stream) const;
  /// Prints the module as a tree of lines, in libtorch's format.
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

 protected:
  /// Makes this module a deep copy of `other`, which has its type: how clone() copies a submodule.
  virtual void clone_(const Module& other, const std::optional<Device>& device);
  /// A copy by the copy constructor, which shares all parts; null unless overridden.
  virtual ResettableModule* new_copy() const { return nullptr; }
  /// Assigns a module of the same type.
  virtual void assign(const Module&) {}
  /// Whether reset() runs in clone(). Parts that the options hold must then be copied. register_parameter and
  /// register_buffer do that: they return the tensor to use.
  bool is_being_cloned() const { return cloned_from_ != nullptr; }
  /// Registers the parameter or buffer, and assigns it to `member`, which must be a member of this object. If another
  /// leaf is assigned to the member later, or an undefined tensor, that one takes the place of the registered one.
  void register_parameter(Tensor& member, std::string name, Tensor tensor, bool requires_grad = true);
  void register_buffer(Tensor& member, std::string name, Tensor tensor);
  /// Clears the lists of parameters, buffers and submodules, for copies that register their own.
  void forget_parts();
  /// Registers copies of the parameters of `original`, for modules that keep no other handles to them.
  void register_copies(const Module& original, const std::optional<Device>& device);

  mutable OrderedDict<std::string, Tensor> parameters_;
  mutable OrderedDict<std::string, Tensor> buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;

 private:
  /// Where in the object the member of a parameter or buffer is: copies of the module have it in the same place.
  struct Member {
    std::string name;
    std::ptrdiff_t offset;
  };

  void add_member(Tensor& member, const std::string& name);
  Tensor& tensor_of(const Member& member) const;
  Tensor* registered(const std::string& name) const;
  void follow_members() const;
  void assign_members() const;
  void check_name(const std::string& name) const;
  void check_copyable() const;
  void add_module(std::string name, std::shared_ptr<Module> module);
  void exchange_module(const std::string& name, std::shared_ptr<Module> module);
  void move_tensors(const std::function<Tensor(const Tensor&)>& moved);
  void copy_parts(const Module& original, const std::optional<Device>& device);
  void add_state(StateDict& state, const std::string& path) const;
  void print_tree(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> checked_shared() const;

  mutable std::optional<std::string> name_;
  bool training_ = true;
  const Module* cloned_from_ = nullptr;  // set while clone() makes this module
  std::shared_ptr<const CallHook> call_hook_ = default_call_hook();
  std::shared_ptr<const ForwardHooks> forward_hooks_;  // null without hooks
  std::vector<Member> members_;
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

/// Base class of modules that initialise themselves in reset().
class ResettableModule : public Module {
 public:
  using Module::Module;
  /// Creates and registers new parameters, buffers and submodules.
  virtual void reset() = 0;
};

/// Implements clone() for `Derived`, as in libtorch: `class NetImpl : public nn::Cloneable<NetImpl>`.
template <class Derived, std::derived_from<ResettableModule> Base = ResettableModule>
class Cloneable : public Base {
 public:
  using Base::Base;

 protected:
  // Headers define many modules: what each of them instantiates must be cheap to compile.
  ResettableModule* new_copy() const override { return new Derived(static_cast<const Derived&>(*this)); }
  void assign(const Module& other) override { static_cast<Derived&>(*this) = static_cast<const Derived&>(other); }
};

template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& module) {
  return stream << static_cast<const Module&>(*module);
}

}  // namespace tandem::nn
#pragma GCC visibility pop
