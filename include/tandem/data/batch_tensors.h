#pragma once
// Access to the tensors of a batch of any type, so that a data loader can page-lock them and copy them to a device.
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/data/example.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// A custom batch type calls this with each of its tensors, in a member function
/// `void for_each_tensor(const data::TensorVisitor& visit) { visit(images); visit(boxes); }`.
using TensorVisitor = std::function<void(Tensor&)>;

namespace detail {

template <class T>
inline constexpr bool is_example = false;
template <class Data, class Target>
inline constexpr bool is_example<Example<Data, Target>> = true;

template <class T>
concept VisitsTensors = requires(T& batch, const TensorVisitor& visit) {
  batch.for_each_tensor(visit);
};
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept Container = requires(T& batch) {
  typename T::value_type;
  batch.begin();
  batch.end();
};

/// Returns true for the types whose tensors for_each_tensor() can reach: Tensor, types with a member for_each_tensor,
/// and Examples, pairs, tuples, arrays, vectors and maps that contain one of these.
template <class T>
constexpr bool has_tensors() {
  if constexpr (std::is_same_v<T, Tensor> || VisitsTensors<T>) {
    return true;
  } else if constexpr (is_example<T>) {
    return has_tensors<typename T::DataType>() || has_tensors<typename T::TargetType>();
  } else if constexpr (TupleLike<T>) {
    return []<size_t... I>(std::index_sequence<I...>) { return (has_tensors<std::tuple_element_t<I, T>>() || ...); }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (Container<T>) {
    return has_tensors<typename T::value_type>();
  } else {
    return false;
  }
}

/// Calls `visit` with each defined tensor of a batch. Skips parts without tensors, such as names and numeric labels.
template <class T>
void for_each_tensor(T& batch, const TensorVisitor& visit) {
  if constexpr (!has_tensors<T>()) {
    return;
  } else if constexpr (std::is_same_v<T, Tensor>) {
    if (batch.defined()) visit(batch);
  } else if constexpr (VisitsTensors<T>) {
    batch.for_each_tensor([&visit](Tensor& t) { for_each_tensor(t, visit); });
  } else if constexpr (is_example<T>) {
    for_each_tensor(batch.data, visit);
    for_each_tensor(batch.target, visit);
  } else if constexpr (TupleLike<T>) {
    std::apply([&visit](auto&... parts) { (for_each_tensor(parts, visit), ...); }, batch);
  } else {
    for (auto& part : batch) for_each_tensor(part, visit);
  }
}

}  // namespace detail
}  // namespace tandem::data
#pragma GCC visibility pop
