#pragma once
// Scalar: a number argument that records whether it is floating, integral or bool, as type promotion requires.
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A double, int64 (or a larger uint64) or bool. Takes part in type promotion by category only, like a Python number in
/// PyTorch.
class Scalar {
 public:
  constexpr Scalar() : Scalar(int64_t{0}) {}
  constexpr Scalar(bool v) : kind_(DType::Bool), int_(v) {}
  /// A pointer or text is not a number.
  template <class T>
  Scalar(T*) = delete;
  template <class T, class Class>
  Scalar(T Class::*) = delete;
  template <class T>
  requires(std::is_enum_v<T>&& std::convertible_to<T, int64_t>) constexpr Scalar(T v)
      : Scalar(static_cast<std::underlying_type_t<T>>(v)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr Scalar(T v)
      : kind_(std::cmp_greater(v, std::numeric_limits<int64_t>::max()) ? DType::U64 : DType::I64),
        int_(static_cast<int64_t>(v)) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : kind_(DType::F64), double_(static_cast<double>(v)) {}
  constexpr Scalar(Half v) : kind_(DType::F64), double_(static_cast<float>(v)) {}
  constexpr Scalar(BFloat16 v) : kind_(DType::F64), double_(static_cast<float>(v)) {}
  constexpr Scalar(Float8_e4m3fn v) : kind_(DType::F64), double_(static_cast<float>(v)) {}
  constexpr Scalar(Float8_e5m2 v) : kind_(DType::F64), double_(static_cast<float>(v)) {}
  constexpr Scalar(Float8_e8m0fnu v) : kind_(DType::F64), double_(static_cast<float>(v)) {}

  constexpr bool is_floating_point() const { return kind_ == DType::F64; }
  constexpr bool is_boolean() const { return kind_ == DType::Bool; }
  constexpr bool is_integral() const { return kind_ == DType::I64 || kind_ == DType::U64; }
  /// F64, I64, Bool, or U64 for a number above the largest int64.
  constexpr DType kind() const { return kind_; }

  constexpr double to_double() const {
    return is_floating_point()   ? double_
           : kind_ == DType::U64 ? static_cast<double>(static_cast<uint64_t>(int_))
                                 : static_cast<double>(int_);
  }
  /// True if `t` can hold the number after rounding or truncation; infinities and NaN need a floating dtype that has
  /// them. As in PyTorch, unsigned dtypes also accept -max to -1 (wrapped modulo 2^bits), and bool accepts any number.
  bool fits(DType t) const {
    return visit_dtype(t, [this](auto zero) { return fits<decltype(zero)>(); });
  }
  /// The same for a C++ type.
  template <class T>
  bool fits() const {
    if constexpr (std::same_as<T, bool>) {
      return true;
    } else if constexpr (std::integral<T>) {
      constexpr auto max = static_cast<double>(std::numeric_limits<T>::max());
      const double low = std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : -max;
      // The largest 64-bit integer is not a double: `max` has been rounded up to a power of two, which does not fit.
      if (is_floating_point()) return double_ >= low && (sizeof(T) == 8 ? double_ < max : double_ <= max);
      if (sizeof(T) == 8) return kind_ != DType::U64 || std::unsigned_integral<T>;
      return to_double() >= low && to_double() <= max;
    } else {
      const double max = std::same_as<T, double>           ? std::numeric_limits<double>::max()
                         : std::same_as<T, Half>           ? 65504
                         : std::same_as<T, BFloat16>       ? 0x1.fep127
                         : std::same_as<T, Float8_e4m3fn>  ? 448
                         : std::same_as<T, Float8_e5m2>    ? 57344
                         : std::same_as<T, Float8_e8m0fnu> ? 0x1p127
                                                           : std::numeric_limits<float>::max();
      if (std::isinf(to_double())) return !std::same_as<T, Float8_e4m3fn> && !std::same_as<T, Float8_e8m0fnu>;
      if (std::same_as<T, Float8_e8m0fnu> && to_double() < 0) return false;
      return std::isnan(to_double()) || std::abs(to_double()) <= max;
    }
  }
  /// libtorch's names: the number converted, as by to<T>().
  constexpr double toDouble() const { return to<double>(); }
  constexpr float toFloat() const { return to<float>(); }
  constexpr int64_t toLong() const { return to<int64_t>(); }
  constexpr int toInt() const { return to<int>(); }
  constexpr bool toBool() const { return to<bool>(); }
  constexpr uint8_t toByte() const { return to<uint8_t>(); }
  constexpr int8_t toChar() const { return to<int8_t>(); }
  constexpr int16_t toShort() const { return to<int16_t>(); }
  constexpr Half toHalf() const { return to<Half>(); }
  constexpr BFloat16 toBFloat16() const { return to<BFloat16>(); }
  constexpr bool isComplex() const { return false; }
  /// Whether the numbers are equal, whatever their types; a bool equals only bools, as in libtorch.
  constexpr bool equal(Scalar other) const {
    if (is_boolean() != other.is_boolean()) return false;
    const bool exact = !is_floating_point() && !other.is_floating_point();
    return exact ? int_ == other.int_ && (kind_ == DType::U64) == (other.kind_ == DType::U64)
                 : to_double() == other.to_double();
  }
  constexpr bool isFloatingPoint() const { return is_floating_point(); }
  constexpr bool isIntegral(bool include_bool) const { return is_integral() || (include_bool && is_boolean()); }
  constexpr bool isBoolean() const { return is_boolean(); }
  constexpr DType type() const { return kind_; }
  /// The negative number. Throws DTypeError for a bool.
  Scalar operator-() const;
  /// The number as text: "2", "2.5", "true".
  std::string str() const;

  /// Truncates. Undefined behavior if the number does not fit.
  constexpr int64_t to_int64() const { return is_floating_point() ? static_cast<int64_t>(double_) : int_; }
  /// Rounds or truncates. Undefined behavior for an integer type that the number does not fit.
  template <class T>
  constexpr T to() const {
    if constexpr (std::same_as<T, bool>) {
      return to_double() != 0;
    } else if constexpr (std::same_as<T, uint64_t>) {
      return is_floating_point() && double_ >= 0x1p63 ? static_cast<T>(double_) : static_cast<T>(to_int64());
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

/// Throws StateError, naming `op`, unless `t` can hold `value`.
void check_fits(Scalar value, DType t);

}  // namespace tandem
#pragma GCC visibility pop
