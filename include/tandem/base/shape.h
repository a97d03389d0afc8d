#pragma once
// Sizes and strides: ArrayRef, a view type for arguments, and Dims, a fixed-capacity vector for storage.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/error.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The largest rank that a tensor can have.
inline constexpr int kMaxRank = 12;

/// A non-owning view of a list, for function arguments. Converts from braced lists, vectors and arrays. Do not keep it
/// beyond the call.
template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  /// A list of one element: `max_pool2d(x, 2)`.
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
#pragma GCC diagnostic push
#ifndef __clang__                                      // clang has no such warning
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // as an argument, the list outlives the call
#endif
  constexpr ArrayRef(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* data() const { return data_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr auto rbegin() const { return std::make_reverse_iterator(end()); }
  constexpr auto rend() const { return std::make_reverse_iterator(begin()); }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  /// Throws IndexError if i is not below size().
  constexpr const T& at(size_t i) const {
    if (i >= size_) {
      throw IndexError("at", "element " + std::to_string(i) + " of " + std::to_string(size_) + "; use a smaller index");
    }
    return data_[i];
  }
  ArrayRef slice(size_t from, size_t count) const { return {data_ + from, count}; }
  ArrayRef slice(size_t from) const { return slice(from, size_ - from); }
  bool equals(ArrayRef other) const { return *this == other; }
  std::vector<T> vec() const { return {begin(), end()}; }

  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

/// Sizes, strides or dimension lists as arguments: `x.view({-1, 1024})`.
using IntArrayRef = ArrayRef<int64_t>;

/// The sizes or strides of a tensor: up to kMaxRank integers, stored inline.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> list) : Dims(IntArrayRef(list)) {}
  /// Throws ShapeError when `values` has more than kMaxRank entries.
  Dims(IntArrayRef values) {
    for (int64_t v : values) push_back(v);
  }
  Dims(size_t count, int64_t value) {
    for (size_t i = 0; i < count; ++i) push_back(value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  /// The last entry; there must be one.
  int64_t& back() { return values_[size_ - 1]; }
  int64_t back() const { return values_[size_ - 1]; }
  /// Appends an entry. Throws ShapeError beyond kMaxRank entries.
  void push_back(int64_t v) {
    if (size_ == kMaxRank) rank_overflow();
    values_[size_++] = v;
  }
  /// Removes the last entry; there must be one.
  void pop_back() { --size_; }
  /// Inserts an entry before position `at`.
  void insert(size_t at, int64_t v) {
    push_back(v);
    for (size_t i = size_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = v;
  }
  /// Removes the entry at position `at`.
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
    --size_;
  }
  operator IntArrayRef() const { return {values_, size_}; }
  friend bool operator==(const Dims& a, const Dims& b) { return IntArrayRef(a) == IntArrayRef(b); }

 private:
  [[noreturn]] static void rank_overflow();

  uint32_t size_ = 0;
  int64_t values_[kMaxRank];
};

/// Product of the sizes, 1 for rank 0. Throws ShapeError if it overflows int64; the overflow check counts sizes of 0 as
/// 1, as strides do.
int64_t numel_of(IntArrayRef sizes);

/// Row-major strides. Throws ShapeError if they overflow.
Dims contiguous_strides(IntArrayRef sizes);
/// Number of elements from the first to the last one addressed, inclusive; 0 for an empty tensor; nullopt on overflow.
std::optional<int64_t> extent_of(IntArrayRef sizes, IntArrayRef strides);
/// True if a dimension of size > 1 has stride 0, as after expand(): its elements share memory.
bool is_expanded(IntArrayRef sizes, IntArrayRef strides);
/// Strides of an [N, C, H, W] tensor stored in the order N, H, W, C. Throws ShapeError for another rank, or if they
/// overflow.
Dims channels_last_strides(IntArrayRef sizes);
/// The shape that `a` and `b` broadcast to. Throws ShapeError, naming `op` and both shapes, if there is none.
Dims broadcast_shapes(IntArrayRef a, IntArrayRef b);
/// Returns `dim`, plus the rank if it is negative. Throws IndexError outside [-rank, rank); rank 0 counts as 1.
int64_t wrap_dim(int64_t dim, int64_t rank);
/// Text of the form "[2, 3, 4]".
std::string to_string(IntArrayRef values);

}  // namespace tandem
#pragma GCC visibility pop
