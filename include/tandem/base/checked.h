#pragma once
// Checked: int64 arithmetic with overflow detection, for sizes, strides and offsets that the caller supplies.
#include <cstdint>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace tandem {

/// An int64 that records whether any step of its computation overflowed. Once a step has overflowed, no later result
/// fits.
///
///   const Checked reach = Checked(dilation) * (kernel - 1) + 1;
///   TANDEM_CHECK(reach <= size, ShapeError, "...: the window reaches over {} rows ...", to_string(reach));
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}

  /// False once a step has overflowed.
  constexpr bool fits() const { return fits_; }
  /// The value, or nullopt if it does not fit.
  constexpr std::optional<int64_t> value() const { return fits_ ? std::optional(value_) : std::nullopt; }
  constexpr int64_t value_or(int64_t otherwise) const { return fits_ ? value_ : otherwise; }

  constexpr Checked& operator+=(Checked b) {
    fits_ = !__builtin_add_overflow(value_, b.value_, &value_) && fits_ && b.fits_;
    return *this;
  }
  constexpr Checked& operator-=(Checked b) {
    fits_ = !__builtin_sub_overflow(value_, b.value_, &value_) && fits_ && b.fits_;
    return *this;
  }
  constexpr Checked& operator*=(Checked b) {
    fits_ = !__builtin_mul_overflow(value_, b.value_, &value_) && fits_ && b.fits_;
    return *this;
  }
  friend constexpr Checked operator+(Checked a, Checked b) { return a += b; }
  friend constexpr Checked operator-(Checked a, Checked b) { return a -= b; }
  friend constexpr Checked operator*(Checked a, Checked b) { return a *= b; }

  /// Comparisons are false if either side does not fit.
  friend constexpr bool operator==(Checked a, Checked b) { return a.fits_ && b.fits_ && a.value_ == b.value_; }
  friend constexpr bool operator<=(Checked a, Checked b) { return a.fits_ && b.fits_ && a.value_ <= b.value_; }
  friend constexpr bool operator>=(Checked a, Checked b) { return b <= a; }

 private:
  int64_t value_;
  bool fits_ = true;
};

/// For messages: returns the value, or "over 2^63" if it does not fit.
inline std::string to_string(Checked value) { return value.fits() ? std::to_string(*value.value()) : "over 2^63"; }

}  // namespace tandem
#pragma GCC visibility pop
