#pragma once
// AnyModule: a module of any type whose forward() takes up to six tensors and returns one.
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tandem/base/op_scope.h"
#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// A module class with `Tensor forward(const Tensor&)` (other arguments may have defaults).
template <class M>
concept TensorModule = std::derived_from<M, Module> && requires(M& m, const Tensor& x) {
  { m.forward(x) } -> std::convertible_to<Tensor>;
};

namespace detail {
template <class M, size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return requires(M & m, const Tensor* x) {
    { m.forward(x[I]...) } -> std::convertible_to<Tensor>;
  };
}
}  // namespace detail

/// A module class with `Tensor forward(const Tensor&, ...)` of N tensors (other arguments may have defaults).
template <class M, size_t N>
concept ModuleOfTensors = std::derived_from<M, Module> && detail::takes_tensors<M>(std::make_index_sequence<N>());

namespace detail {
[[noreturn]] void throw_argument_count(const std::string& module, size_t count);

/// Calls m.forward with the `count` tensors at x.
template <class M>
Tensor call_with_tensors(M& m, const Tensor* x, size_t count) {
  if constexpr (ModuleOfTensors<M, 1>) {
    if (count == 1) return call(m, x[0]);
  }
  if constexpr (ModuleOfTensors<M, 2>) {
    if (count == 2) return call(m, x[0], x[1]);
  }
  if constexpr (ModuleOfTensors<M, 3>) {
    if (count == 3) return call(m, x[0], x[1], x[2]);
  }
  if constexpr (ModuleOfTensors<M, 4>) {
    if (count == 4) return call(m, x[0], x[1], x[2], x[3]);
  }
  if constexpr (ModuleOfTensors<M, 5>) {
    if (count == 5) return call(m, x[0], x[1], x[2], x[3], x[4]);
  }
  if constexpr (ModuleOfTensors<M, 6>) {
    if (count == 6) return call(m, x[0], x[1], x[2], x[3], x[4], x[5]);
  }
  throw_argument_count(m.name(), count);
}
template <class M>
inline constexpr bool takes_some_tensors = ModuleOfTensors<M, 2> || ModuleOfTensors<M, 3> || ModuleOfTensors<M, 4> ||
                                           ModuleOfTensors<M, 5> || ModuleOfTensors<M, 6>;

[[noreturn]] void throw_wrong_module(const std::string& actual, const std::type_info& wanted);
[[noreturn]] void throw_empty_any_module();

template <class T>
concept Holder = requires {
  typename T::ContainedType;
}
&&std::derived_from<T, ModuleHolder<typename T::ContainedType>>;
/// The module class of a module class, of a holder, or of a shared_ptr to a module.
template <class T>
struct ModuleOf {
  using type = T;
};
template <class T>
struct ModuleOf<std::shared_ptr<T>> {
  using type = T;
};
template <Holder T>
struct ModuleOf<T> {
  using type = typename T::ContainedType;
};
/// Returns `module` as an `M` (a module or holder class). Throws StateError if it has another type.
template <class M>
auto& module_as(Module* module) {
  using Class = typename ModuleOf<M>::type;
  auto* m = dynamic_cast<Class*>(module);
  if (!m) throw_wrong_module(module ? module->name() : "nothing", typeid(Class));
  return *m;
}
/// Does not compile for a module that a Sequential cannot run. Other types are left to overload resolution.
template <class T>
constexpr bool check_tensor_module() {
  using Class = typename ModuleOf<std::remove_cvref_t<T>>::type;
  if constexpr (std::derived_from<Class, Module>) {
    static_assert(
        TensorModule<Class> || takes_some_tensors<Class>,
        "Sequential and AnyModule need modules with a public `Tensor forward(const Tensor&)`; give the module "
        "one, or call it from a module of your own");
    return TensorModule<Class> || takes_some_tensors<Class>;
  } else {
    return true;
  }
}
}  // namespace detail

/// Holds any module whose forward() takes up to six tensors, such as an element of Sequential. Copies share the module.
class AnyModule {
 public:
  AnyModule() = default;
  /// These accept any module, but do not compile unless forward() takes one to six tensors and returns one.
  template <std::derived_from<Module> M>
  AnyModule(std::shared_ptr<M> module) : module_(module) {
    if (!module) detail::throw_empty_any_module();
    if constexpr (detail::takes_some_tensors<M>) {
      forward_ = forward_of<M>;
    } else if constexpr (detail::check_tensor_module<M>()) {
      forward_ = forward_of<M>;
    }
  }
  template <detail::Holder H>
  AnyModule(const H& holder) : AnyModule(holder.ptr()) {}
  /// Moves (or copies) a module into a shared_ptr.
  template <class M>
  requires std::derived_from<std::remove_cvref_t<M>, Module> AnyModule(M&& module)
      : AnyModule(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))) {}

  bool is_empty() const noexcept { return module_ == nullptr; }
  /// Calls the module. Throws StateError if there is none, or if it does not take as many tensors.
  template <class Result = Tensor, std::same_as<Tensor>... More>
  requires(std::same_as<Result, Tensor> && sizeof...(More) < 6) Tensor forward(const Tensor& x, const More&... more)
  const {
    const Tensor arguments[] = {x, more...};
    return forward(TensorList(arguments, 1 + sizeof...(More)));
  }
  Tensor forward(TensorList arguments) const {
    if (!forward_) detail::throw_empty_any_module();
    return forward_(*module_, arguments.data(), arguments.size());
  }
  /// Holds a deep copy of the module (Module::clone).
  AnyModule clone(const std::optional<Device>& device = std::nullopt) const;
  std::shared_ptr<Module> ptr() const { return module_; }
  /// The same as an `M`. Throws StateError if the module has another type.
  template <class M>
  std::shared_ptr<M> ptr() const {
    return {module_, &get<M>()};
  }
  /// Returns the module as an `M` (a module or holder class). Throws StateError if it has another type.
  template <class M>
  auto& get() const {
    const OpScope op("AnyModule");
    return detail::module_as<M>(module_.get());
  }

 private:
  template <class M>
  static Tensor forward_of(Module& module, const Tensor* x, size_t count) {
    return detail::call_with_tensors(static_cast<M&>(module), x, count);
  }

  std::shared_ptr<Module> module_;
  Tensor (*forward_)(Module&, const Tensor*, size_t) = nullptr;
};

/// A module with a name: `{"fc1", nn::Linear(3, 4)}`.
class NamedAnyModule {
 public:
  NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}
  const std::string& name() const noexcept { return name_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
