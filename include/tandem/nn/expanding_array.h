#pragma once
// ExpandingArray: D sizes, given as D numbers or as one number for all.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tandem/base/shape.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace detail {
[[noreturn]] void throw_expanding_array(size_t expected, size_t given);
}

/// Type of kernel sizes, strides and so on: `5` or `{3, 5}`. Throws StateError unless 1 or D numbers are given.
template <size_t D, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(T single) { values_.fill(single); }
  ExpandingArray(std::initializer_list<T> list) { take(list.begin(), list.size()); }
  ExpandingArray(const std::vector<T>& list) { take(list.data(), list.size()); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator ArrayRef<T>() const { return values_; }
  constexpr size_t size() const { return D; }
  friend bool operator==(const ExpandingArray&, const ExpandingArray&) = default;

 private:
  void take(const T* from, size_t count) {
    if (count == 1) {
      values_.fill(*from);
    } else if (count == D) {
      for (size_t i = 0; i < D; ++i) values_[i] = from[i];
    } else {
      detail::throw_expanding_array(D, count);
    }
  }
  std::array<T, D> values_;
};

/// An ExpandingArray with optional entries: `{7, nullopt}`.
template <size_t D>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<int64_t>> {
 public:
  using Base = ExpandingArray<D, std::optional<int64_t>>;
  using Base::Base;
  ExpandingArrayWithOptionalElem(int64_t single) : Base(std::optional<int64_t>(single)) {}
};

}  // namespace tandem
#pragma GCC visibility pop
