#pragma once
// Finds the tensors among the arguments of a call: single, optional, or in containers nested to any depth.
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd::detail {

/// Per type: whether it can hold tensors that visit_tensors() finds, and how to visit them in order.
template <class T>
struct Tensors {
  static constexpr bool any = false;
};
template <>
struct Tensors<Tensor> {
  static constexpr bool any = true;
  template <class X, class F>
  static void visit(X& x, F& f) {
    f(x);
  }
};
/// Types that a range-based for loop can iterate over.
template <class Entry>
struct TensorsOfRange {
  static constexpr bool any = Tensors<Entry>::any;
  template <class X, class F>
  static void visit(X& x, F& f) {
    for (auto& entry : x) Tensors<Entry>::visit(entry, f);
  }
};
template <class Entry, class A>
struct Tensors<std::vector<Entry, A>> : TensorsOfRange<Entry> {};
template <class A>
struct Tensors<std::vector<bool, A>> : Tensors<void> {};
template <class Entry, size_t N>
struct Tensors<std::array<Entry, N>> : TensorsOfRange<Entry> {};
template <class Entry>
struct Tensors<ArrayRef<Entry>> : TensorsOfRange<Entry> {};
template <class Key, class Value, class... Rest>
struct Tensors<std::map<Key, Value, Rest...>> {
  static constexpr bool any = Tensors<Value>::any;
  template <class X, class F>
  static void visit(X& x, F& f) {
    for (auto& entry : x) Tensors<Value>::visit(entry.second, f);
  }
};
template <class Entry>
struct Tensors<std::optional<Entry>> {
  static constexpr bool any = Tensors<Entry>::any;
  template <class X, class F>
  static void visit(X& x, F& f) {
    if (x) Tensors<Entry>::visit(*x, f);
  }
};
template <class... Entries>
struct Tensors<std::tuple<Entries...>> {
  static constexpr bool any = (Tensors<Entries>::any || ...);
  template <class X, class F>
  static void visit(X& x, F& f) {
    std::apply([&](auto&... entries) { (visit_one<Entries>(entries, f), ...); }, x);
  }

 private:
  template <class Entry, class X, class F>
  static void visit_one(X& x, F& f) {
    if constexpr (Tensors<Entry>::any) Tensors<Entry>::visit(x, f);
  }
};
template <class A, class B>
struct Tensors<std::pair<A, B>> : Tensors<std::tuple<A, B>> {};

/// Whether an argument of this type can hold tensors.
template <class T>
inline constexpr bool holds_tensors = Tensors<std::remove_cvref_t<T>>::any;

/// Calls f(tensor) for each tensor in `x`, in order, including undefined ones. `f` may replace them if `x` is not
/// const.
template <class T, class F>
void visit_tensors(T& x, F&& f) {
  if constexpr (holds_tensors<T>) Tensors<std::remove_cv_t<T>>::visit(x, f);
}

/// Returns an owning copy of an argument: a TensorList, which does not own its tensors, becomes a vector.
template <class T>
auto owned(const T& x) {
  if constexpr (std::is_same_v<T, TensorList>) {
    return x.vec();
  } else {
    return x;
  }
}

}  // namespace tandem::autograd::detail
#pragma GCC visibility pop
