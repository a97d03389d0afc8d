#pragma once
// Calling a module: forward(), with what a mode has put around it.
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::nn {

/// What a mode puts around a module's forward(): it sees every tensor that goes in and comes out. One hook may serve
/// many modules and threads at a time.
class CallHook {
 public:
  virtual ~CallHook() = default;
  /// An argument of forward(), as forward() is to have it.
  virtual Tensor input(const Tensor& x) const { return x; }
  /// What is held while forward() runs: a guard of the thread's modes. `device`: that of the first tensor argument.
  virtual std::shared_ptr<void> enter(Device device) const {
    static_cast<void>(device);
    return nullptr;
  }
  /// A result of forward(), as the caller is to have it. Runs after `enter`'s guard has ended.
  virtual Tensor output(const Tensor& y) const { return y; }
};

/// The hook of modules that are made from now on, for the whole process; null: none. Losses (LossModule) are no layers:
/// theirs is `of_losses`.
void set_default_call_hook(std::shared_ptr<const CallHook> hook, std::shared_ptr<const CallHook> of_losses = nullptr);
std::shared_ptr<const CallHook> default_call_hook();
std::shared_ptr<const CallHook> default_loss_call_hook();

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = !std::is_same_v<T, bool>;

/// `value` with f applied to each tensor in it: a tensor, a vector, pair or tuple of such; anything else as it is.
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

/// Holds a tensors' argument after the hook, or the argument itself.
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

/// module.forward(args...) with the module's call hook around it. ModuleHolder's operator(), AnyModule and Sequential
/// call modules this way; `net->forward(x)` leaves the hook out.
template <class M, class... Args>
decltype(auto) call(M& module, Args&&... args) {
  using Result = decltype(module.forward(std::forward<Args>(args)...));
  if constexpr (requires { module.call_hook(); }) {
    if (const std::shared_ptr<const CallHook>& present = module.call_hook()) [[unlikely]] {
      const std::shared_ptr<const CallHook> hook = present;
      std::optional<Device> device;
      (detail::note_device(device, args), ...);
      // Braces fix the order of the casts.
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
