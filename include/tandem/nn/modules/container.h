#pragma once
// Sequential, ModuleList, Functional.
#include <initializer_list>
#include <string>
#include <vector>

#include "tandem/nn/modules/any.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// A function as a module: `Functional(relu)`, or with bound arguments, `Functional(softmax, 1, nullopt)`.
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  /// Throws StateError for an empty function.
  explicit FunctionalImpl(Function function);
  template <class F, class... Args>
  requires(sizeof...(Args) > 0) explicit FunctionalImpl(F function, Args... args)
      : FunctionalImpl(std::function<Tensor(const Tensor&, const Args&...)>(function)  // may be empty
                           ? Function([=](const Tensor& x) -> Tensor { return function(x, args...); })
                           : Function()) {}
  void reset() override {}
  Tensor forward(const Tensor& input);
  Tensor operator()(const Tensor& input) { return forward(input); }
  void pretty_print(std::ostream& stream) const override;

 private:
  Function function_;
};
TANDEM_MODULE(Functional);

/// Runs modules one after another, each on the output of the previous one. Elements are modules with
/// `Tensor forward(Tensor)`, the first also with up to six tensors; they are registered as "0", "1", ..., or with given
/// names. A Linear or Conv2d that is followed by a ReLU runs as one op, linear_relu or conv2d_relu, which saves a
/// tensor, unless either has a call hook: the hook must see the tensor in between.
///
///   nn::Sequential net(nn::Linear(784, 64), nn::Functional(relu), nn::Linear(64, 10));
///   nn::Sequential net({{"fc1", nn::Linear(784, 64)}, {"fc2", nn::Linear(64, 10)}});
class SequentialImpl : public Module {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  template <class... M>
  requires(sizeof...(M) > 0 && (std::constructible_from<AnyModule, M> && ...)) explicit SequentialImpl(M&&... modules) {
    modules_.reserve(sizeof...(M));
    (push_back(AnyModule(std::forward<M>(modules))), ...);
  }
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> named_modules);
  explicit SequentialImpl(const OrderedDict<std::string, AnyModule>& named_modules);
  void reset() {}
  /// The copy's modules are clones.
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  /// Returns the last module's output; the first module gets all inputs. Throws StateError if there are no modules.
  template <std::same_as<Tensor> Result = Tensor, std::same_as<Tensor>... More>
  requires(sizeof...(More) < 6) Result forward(const Tensor& input, const More&... more) {
    const Tensor inputs[] = {input, more...};
    return run(TensorList(inputs, 1 + sizeof...(More)));
  }
  void pretty_print(std::ostream& stream) const override;

  /// Appends a module, with the given name or its index as the name. Throws StateError for an empty module or a used
  /// name.
  void push_back(AnyModule module);
  void push_back(std::string name, AnyModule module);
  void push_back(const NamedAnyModule& module) { push_back(module.name(), module.module()); }
  /// Appends all modules of a container of modules.
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(AnyModule(module));
  }

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  /// Throws IndexError beyond the end, StateError for another type.
  template <class M>
  auto& at(size_t index) const {
    const OpScope op("Sequential");
    return detail::module_as<M>(ptr(index).get());
  }
  /// The module at `index`. Throws IndexError beyond the end.
  std::shared_ptr<Module> ptr(size_t index) const { return checked(index).ptr(); }
  /// The same as an `M`. Throws as at() does.
  template <class M>
  std::shared_ptr<M> ptr(size_t index) const {
    return {ptr(index), &at<M>(index)};
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }

 protected:
  void clone_(const Module& other, const std::optional<Device>& device) override;

 private:
  Tensor run(TensorList inputs);
  const AnyModule& checked(size_t index) const;
  std::vector<AnyModule> modules_;
};

/// The holder of a SequentialImpl.
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using Impl = SequentialImpl;
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> named_modules)
      : ModuleHolder(std::make_shared<SequentialImpl>(named_modules)) {}
  /// Same as the base's constructor, but for a module that cannot be run the compiler's error points to the caller.
  template <class Head, class... Tail>
  requires(
      (sizeof...(Tail) > 0 || !std::derived_from<std::remove_cvref_t<Head>, ModuleHolder>)&&std::constructible_from<
          SequentialImpl, Head, Tail...>) explicit Sequential(Head&& head, Tail&&... tail)
      : ModuleHolder(make(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  template <class Head, class... Tail>
  requires detail::WrongArguments<SequentialImpl, Head, Tail...>
  explicit Sequential(Head&&, Tail&&...) = delete;  // not modules: wrap functions, as in nn::Functional(relu)

 private:
  template <class... M>
  static std::shared_ptr<SequentialImpl> make(M&&... modules) {
    if constexpr ((detail::check_tensor_module<M>() && ...)) {
      return std::make_shared<SequentialImpl>(std::forward<M>(modules)...);
    } else {
      return nullptr;
    }
  }
};

/// A list of modules, registered as "0", "1", ... It has no forward(); the owner calls the modules.
class ModuleListImpl : public Module {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  template <class... M>
  requires(sizeof...(M) > 0 && (!std::derived_from<std::remove_cvref_t<M>, ModuleListImpl> &&
                                ...)) explicit ModuleListImpl(M&&... modules) {
    (push_back(std::forward<M>(modules)), ...);
  }
  void reset() {}
  void pretty_print(std::ostream& stream) const override;
  /// The copy's modules are clones.
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

  /// Throws StateError for a null module.
  void push_back(std::shared_ptr<Module> module);
  template <class Contained>
  void push_back(const ModuleHolder<Contained>& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  template <class M>
  requires std::derived_from<std::remove_cvref_t<M>, Module>
  void push_back(M&& module) {
    push_back(std::shared_ptr<Module>(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))));
  }
  /// Appends copies of the handles of all modules in `container`.
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  /// Inserts a module before `index`. Throws IndexError beyond the end.
  void insert(size_t index, std::shared_ptr<Module> module);
  template <class Contained>
  void insert(size_t index, const ModuleHolder<Contained>& holder) {
    insert(index, std::shared_ptr<Module>(holder.ptr()));
  }

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  /// Throws IndexError beyond the end, StateError for another type.
  template <class M>
  auto& at(size_t index) const {
    const OpScope op("ModuleList");
    return detail::module_as<M>(ptr(index).get());
  }
  /// The module at `index`. Throws IndexError beyond the end.
  std::shared_ptr<Module> ptr(size_t index) const;
  /// The same as an `M`. Throws as at() does.
  template <class M>
  std::shared_ptr<M> ptr(size_t index) const {
    return {ptr(index), &at<M>(index)};
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }

 protected:
  void clone_(const Module& other, const std::optional<Device>& device) override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
TANDEM_MODULE(ModuleList);

}  // namespace tandem::nn
#pragma GCC visibility pop
