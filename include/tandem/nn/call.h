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

/// Code that runs around a module's forward(). It can replace each tensor that is passed in or returned. One hook may
/// be used by many modules and threads at the same time.
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

/// Applies f to each tensor in `value`: a tensor, or vectors, pairs and tuples of tensors. Other values are unchanged.
template <class T, class F>
T map_tensors(T value, const F& f) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (value.defined()) value = f(value);
  } else if constexpr (is_vector<T>) {
    for (auto& part : value) part = map_tensors(std::move(part), f);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... parts) { ((parts = map_tensors(std::move(parts), f)), ...); }, value);
  }
  return value;
}

/// An argument of forward(): for tensors the results of the hook, otherwise a reference to the argument.
template <class Arg>
class HookedArgument {
 public:
  using Value = std::remove_cvref_t<Arg>;
  static constexpr bool has_tensors = std::is_same_v<Value, Tensor> || std::is_same_v<Value, std::vector<Tensor>>;

  HookedArgument(const CallHook& hook, Arg&& arg) : value_(make(hook, arg)) {}
  Arg&& get() { return static_cast<Arg&&>(value_); }

 private:
  static decltype(auto) make(const CallHook& hook, std::remove_reference_t<Arg>& arg) {
    if constexpr (has_tensors) {
      return map_tensors(Value(arg), [&](const Tensor& x) { return hook.input(x); });
    } else {
      return static_cast<std::remove_reference_t<Arg>&>(arg);
    }
  }
  std::conditional_t<has_tensors, Value, std::remove_reference_t<Arg>&> value_;
};

inline void note_device(std::optional<Device>& device, const Tensor& x) {
  if (!device && x.defined()) device = x.device();
}
inline void note_device(std::optional<Device>& device, const std::vector<Tensor>& list) {
  for (const Tensor& x : list) note_device(device, x);
}
template <class T>
void note_device(std::optional<Device>&, const T&) {}

}  // namespace detail

/// Calls module.forward(args...) within the module's call hook. ModuleHolder's operator(), AnyModule and Sequential
/// call modules this way; `net->forward(x)` bypasses the hook.
template <class M, class... Args>
decltype(auto) call(M& module, Args&&... args) {
  using Result = decltype(module.forward(std::forward<Args>(args)...));
  if constexpr (requires { module.call_hook(); }) {
    if (const std::shared_ptr<const CallHook>& present = module.call_hook()) [[unlikely]] {
      const std::shared_ptr<const CallHook> hook = present;
      std::optional<Device> device;
      (detail::note_device(device, args), ...);
      // Braces fix the order in which the hook is called.
      std::tuple<detail::HookedArgument<Args>...> hooked{
          detail::HookedArgument<Args>(*hook, std::forward<Args>(args))...};
      const auto run = [&]() -> Result {
        const std::shared_ptr<void> scope = hook->enter(device.value_or(Device(kCPU)));
        return std::apply([&](auto&... a) -> Result { return module.forward(a.get()...); }, hooked);
      };
      if constexpr (std::is_void_v<Result> || std::is_reference_v<Result>) {
        return run();
      } else {
        return detail::map_tensors<Result>(run(), [&](const Tensor& y) { return hook->output(y); });
      }
    }
  }
  return static_cast<Result>(module.forward(std::forward<Args>(args)...));
}

}  // namespace tandem::nn
#pragma GCC visibility pop
