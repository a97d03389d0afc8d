#pragma once
// Scalar: a number argument that remembers whether it is floating, integral or bool, because promotion asks.
#include <concepts>
#include <cstdint>

#include "tandem/base/dtype.h"

namespace tandem {

/// A double, int64 or bool. Takes part in type promotion by category only, like a Python number in PyTorch.
class Scalar {
 public:
  constexpr Scalar() : Scalar(int64_t{0}) {}
  constexpr Scalar(bool v) : kind_(DType::Bool), int_(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr Scalar(T v) : kind_(DType::I64), int_(static_cast<int64_t>(v)) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : kind_(DType::F64), double_(static_cast<double>(v)) {}
  constexpr Scalar(Half v) : kind_(DType::F64), double_(static_cast<float>(v)) {}
  constexpr Scalar(BFloat16 v) : kind_(DType::F64), double_(static_cast<float>(v)) {}

  constexpr bool is_floating_point() const { return kind_ == DType::F64; }
  constexpr bool is_boolean() const { return kind_ == DType::Bool; }
  constexpr bool is_integral() const { return kind_ == DType::I64; }
  /// F64, I64 or Bool.
  constexpr DType kind() const { return kind_; }

  constexpr double to_double() const { return is_floating_point() ? double_ : static_cast<double>(int_); }
  constexpr int64_t to_int64() const { return is_floating_point() ? static_cast<int64_t>(double_) : int_; }
  template <class T>
  constexpr T to() const {
    if constexpr (std::same_as<T, bool>) {
      return to_double() != 0;
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(to_int64());
    } else {
      return T(static_cast<std::conditional_t<std::same_as<T, double>, double, float>>(to_double()));
    }
  }

 private:
  DType kind_;
  union {
    double double_;
    int64_t int_;
  };
};

}  // namespace tandem
