#pragma once
// Calls of modules: forward(), wrapped in the module's call hook.
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

class Module;
class ForwardHooks;

/// Code that runs around a module's forward(), for modes of mixed precision; see Module::register_forward_hook for
/// functions of a program. It can replace each tensor that is passed in or returned. One hook may be used by many
/// modules and threads at the same time.
class CallHook {
 public:
  virtual ~CallHook() = default;
  /// Returns the tensor to pass to forward() for the argument `x`.
  virtual Tensor input(const Tensor& x) const { return x; }
  /// Returns an object that is held while forward() runs, such as a guard of the thread's modes. `device` is that of
  /// the first tensor argument.
  virtual std::shared_ptr<void> enter(Device device) const {
    static_cast<void>(device);
    return nullptr;
  }
  /// Returns the tensor to return to the caller for the result `y`. Runs after the object from enter() is destroyed.
  virtual Tensor output(const Tensor& y) const { return y; }
};

/// Sets the hooks of modules created from now on, in the whole process; null means none. Losses (LossModule) get
/// `of_losses`, all other modules `hook`.
void set_default_call_hook(std::shared_ptr<const CallHook> hook, std::shared_ptr<const CallHook> of_losses = nullptr);
std::shared_ptr<const CallHook> default_call_hook();
std::shared_ptr<const CallHook> default_loss_call_hook();

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = !std::is_same_v<T, bool>;

/// Calls f for each tensor in `value`: a tensor, or vectors, pairs and tuples of tensors.
template <class T, class F>
void visit_tensors(T& value, const F& f) {
  if constexpr (std::is_same_v<T, Tensor>) {
    f(value);
  } else if constexpr (is_vector<T>) {
    for (auto& part : value) visit_tensors(part, f);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... parts) { (visit_tensors(parts, f), ...); }, value);
  }
}

/// An argument of forward(): a copy of tensors, which hooks may replace, otherwise a reference to the argument.
template <class Arg>
class HookedArgument {
 public:
  using Value = std::remove_cvref_t<Arg>;
  static constexpr bool has_tensors = std::is_same_v<Value, Tensor> || std::is_same_v<Value, std::vector<Tensor>>;

  HookedArgument(Arg&& arg) : value_(arg) {}
  Arg&& get() { return static_cast<Arg&&>(value_); }
  void add_to(std::vector<Tensor*>& inputs) {
    if constexpr (has_tensors) visit_tensors(value_, [&](Tensor& x) { inputs.push_back(&x); });
  }

 private:
  std::conditional_t<has_tensors, Value, std::remove_reference_t<Arg>&> value_;
};

/// The hooks of a module during one call.
class HookedCall {
 public:
  HookedCall(std::shared_ptr<const CallHook> around, std::shared_ptr<const ForwardHooks> hooks, Module* module)
      : around_(std::move(around)), hooks_(std::move(hooks)), module_(module) {}
  /// Replaces the tensors among the arguments.
  void before(const std::vector<Tensor*>& inputs);
  std::shared_ptr<void> enter() const;
  /// Replaces the tensors in the result.
  void after(const std::vector<Tensor*>& outputs) const;

 private:
  std::shared_ptr<const CallHook> around_;
  std::shared_ptr<const ForwardHooks> hooks_;
  Module* module_;
  std::vector<Tensor> inputs_;  // those that the hooks see: before around_ replaces them
};

template <class M>
bool has_hooks(const M& module) {
  if constexpr (requires { module.forward_hooks(); }) {
    return module.call_hook() || module.forward_hooks();
  } else {
    return static_cast<bool>(module.call_hook());
  }
}
template <class M>
HookedCall hooked_call(M& module) {
  if constexpr (requires { module.forward_hooks(); }) {
    return HookedCall(module.call_hook(), module.forward_hooks(), &module);
  } else {
    return HookedCall(module.call_hook(), nullptr, nullptr);
  }
}

}  // namespace detail

/// Calls module.forward(args...) within the module's hooks, and returns its result by value. ModuleHolder's operator(),
/// AnyModule and Sequential call modules this way; `net->forward(x)` bypasses the hooks.
template <class M, class... Args>
auto call(M& module, Args&&... args) {
  using Result = std::decay_t<decltype(module.forward(std::forward<Args>(args)...))>;
  if constexpr (requires { module.call_hook(); }) {
    if (detail::has_hooks(module)) [[unlikely]] {
      detail::HookedCall hooks = detail::hooked_call(module);
      std::tuple<detail::HookedArgument<Args>...> hooked{detail::HookedArgument<Args>(std::forward<Args>(args))...};
      std::vector<Tensor*> tensors;
      std::apply([&](auto&... a) { (a.add_to(tensors), ...); }, hooked);
      hooks.before(tensors);
      const auto run = [&]() -> Result {
        const std::shared_ptr<void> scope = hooks.enter();
        return std::apply([&](auto&... a) -> Result { return module.forward(a.get()...); }, hooked);
      };
      tensors.clear();
      if constexpr (std::is_void_v<Result>) {
        run();
        return hooks.after(tensors);
      } else {
        Result result = run();
        detail::visit_tensors(result, [&](Tensor& y) { tensors.push_back(&y); });
        hooks.after(tensors);
        return result;
      }
    }
  }
  return static_cast<Result>(module.forward(std::forward<Args>(args)...));
}

}  // namespace tandem::nn
#pragma GCC visibility pop
