#pragma once
// ModuleHolder: a handle that shares a module, and the macros that define holders.
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tandem/nn/call.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

template <class Contained>
class ModuleHolder;

namespace detail {
[[noreturn]] void throw_empty_holder(const char* type);

/// Makes a module without options. Its type is found where it is called, so that errors name the program's line.
template <class Contained>
auto make_default() {
  constexpr bool has_default_constructor = std::default_initializable<Contained>;  // else the reasons are shown, too
  static_assert(has_default_constructor, "give the module's options, or nullptr for an empty holder");
  if constexpr (has_default_constructor)
    return std::make_shared<Contained>();
  else
    return std::shared_ptr<Contained>();
}

/// Arguments from which neither a module can be made nor a holder be copied.
template <class Contained, class... Args>
concept WrongArguments =
    sizeof...(Args) > 0 &&
    !(sizeof...(Args) == 1 && ((std::derived_from<std::remove_cvref_t<Args>, ModuleHolder<Contained>> ||
                                std::convertible_to<Args, std::shared_ptr<Contained>>)&&...)) &&
    !std::constructible_from<Contained, Args...>;  // last, because copies of holders must not need a complete module
}  // namespace detail

/// A shared pointer to a module that can be called like a function: `nn::Linear fc(784, 10); y = fc(x); fc->weight;`.
/// Copies share the module. `nn::Linear fc{nullptr}` is empty until it is assigned; using it throws StateError.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;

  /// Holds a default-constructed module, as in libtorch. Pass `nullptr` for an empty holder.
  template <class T = Contained>
  ModuleHolder() : ModuleHolder(detail::make_default<T>()) {}
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}
  /// Passes the arguments to the module's constructor.
  template <class Head, class... Tail>
  requires(
      (sizeof...(Tail) > 0 || !std::derived_from<std::remove_cvref_t<Head>, ModuleHolder>)&&std::constructible_from<
          Contained, Head, Tail...>) explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  std::shared_ptr<Contained> ptr() const { return std::shared_ptr<Contained>(impl_, get()); }
  Contained* get() const {
    check();
    return static_cast<Contained*>(impl_.get());
  }
  /// Calls the module's forward() within its call hook (call.h).
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return call(*get(), std::forward<Args>(args)...);
  }
  /// Calls the module's operator[], for containers.
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) const {
    return (*get())[std::forward<Arg>(arg)];
  }

 private:
  void check() const {
    if (!impl_) [[unlikely]]
      detail::throw_empty_holder(__PRETTY_FUNCTION__);
  }

  std::shared_ptr<void> impl_;  // points to a Contained; one type for all holders compiles much faster
};

}  // namespace tandem::nn
#pragma GCC visibility pop

/// Defines the holder `Name` of the module class `ImplType`. Instead of a list of all constructors, compilers show the
/// deleted one, whose parameters name the cure: Conv2d(Conv2dOptions(1, 2, 3).stride(2)) for Conv2d(1, 2, 3, 2).
#define TANDEM_MODULE_IMPL(Name, ImplType)                                           \
  class Name : public ::tandem::nn::ModuleHolder<ImplType> {                         \
   public:                                                                           \
    using Impl = ImplType;                                                           \
    using ::tandem::nn::ModuleHolder<ImplType>::ModuleHolder;                        \
    template <class T = ImplType>                                                    \
    Name() : Name(::tandem::nn::detail::make_default<T>()) {}                        \
    template <class... give_options_instead>                                         \
    requires ::tandem::nn::detail::WrongArguments<ImplType, give_options_instead...> \
    explicit Name(give_options_instead&&...) = delete;                               \
  }
/// libtorch's modules state forward()'s default arguments in this macro for AnyModule. tandem's AnyModule finds them by
/// itself: the macro is empty.
#define TANDEM_FORWARD_HAS_DEFAULT_ARGS(...)
/// Defines the holder `Name` of the module class `NameImpl`, as libtorch's TORCH_MODULE:
/// `struct NetImpl : nn::Module {...}; TANDEM_MODULE(Net);`
#define TANDEM_MODULE(Name) TANDEM_MODULE_IMPL(Name, Name##Impl)
