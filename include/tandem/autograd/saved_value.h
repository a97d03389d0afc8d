#pragma once
// SavedValue: a value of any type, stored in AutogradContext::saved_data.
#include <any>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// A copy of a value of any copyable type. Integers are stored as int64_t, floating-point numbers as double, C strings
/// as std::string: `saved_data["n"] = 3` and `saved_data["n"].toInt()`. Implements the part of libtorch's IValue that
/// contexts use. The accessors throw StateError if the stored type is another one.
class SavedValue {
 public:
  SavedValue() = default;
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, SavedValue>) SavedValue(T&& value)
      : value_(std::in_place_type<Kept<T>>, std::forward<T>(value)) {}

  bool isNone() const { return !value_.has_value(); }
  bool toBool() const { return to<bool>(); }
  int64_t toInt() const { return to<int64_t>(); }
  double toDouble() const { return to<double>(); }
  const std::string& toStringRef() const { return kept<std::string>(); }
  Tensor toTensor() const { return to<Tensor>(); }
  Scalar toScalar() const { return to<Scalar>(); }
  std::vector<int64_t> toIntVector() const { return to<std::vector<int64_t>>(); }
  std::vector<double> toDoubleVector() const { return to<std::vector<double>>(); }
  std::vector<Tensor> toTensorVector() const { return to<std::vector<Tensor>>(); }
  template <class T>
  T to() const {
    return static_cast<T>(kept<Kept<T>>());
  }

 private:
  template <class T, class D = std::decay_t<T>>
  using Kept = std::conditional_t<
      std::is_same_v<D, bool>, bool,
      std::conditional_t<
          std::is_integral_v<D>, int64_t,
          std::conditional_t<std::is_floating_point_v<D>, double,
                             std::conditional_t<std::is_convertible_v<D, const char*>, std::string, D>>>>;
  template <class T>
  const T& kept() const {
    if (const T* value = std::any_cast<T>(&value_)) return *value;
    throw_wrong_type(typeid(T));
  }
  [[noreturn]] void throw_wrong_type(const std::type_info& wanted) const;

  std::any value_;
};

}  // namespace tandem::autograd
#pragma GCC visibility pop
