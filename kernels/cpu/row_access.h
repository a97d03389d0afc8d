#pragma once
// RowAccess: presents the rows of a contiguous tensor as rows of a compute type.
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/convert.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cpu {

/// Rows of a contiguous tensor as rows of T: in place or through a buffer. T is a compute type, or uint16_t for the
/// bits of a 16-bit tensor.
template <class T>
class RowAccess {
 public:
  RowAccess(const Tensor& t, int64_t n)
      : n_(n),
        dtype_(static_cast<size_t>(t.dtype())),
        width_(static_cast<int64_t>(t.element_size())),
        data_(static_cast<char*>(t.raw_bytes())),
        buffer_(in_place() ? 0 : n) {}

  const T* read(int64_t row) const {
    if (in_place()) return in_place_row(row);
    if constexpr (!kBits) convert_tables().of<T>().load[dtype_](buffer_.data(), row_bytes(row), n_);
    return buffer_.data();
  }
  /// The row's values, to be changed before commit(row).
  T* update(int64_t row) const { return const_cast<T*>(read(row)); }
  /// Where to write the row's values before commit(row).
  T* target(int64_t row) const { return in_place() ? in_place_row(row) : buffer_.data(); }
  void commit(int64_t row) const {
    if constexpr (!kBits) {
      if (!in_place()) convert_tables().of<T>().store[dtype_](row_bytes(row), buffer_.data(), n_);
    }
  }

 private:
  static constexpr bool kBits = std::is_same_v<T, uint16_t>;

  bool in_place() const {
    if constexpr (kBits) {
      return true;
    } else {
      return dtype_ == static_cast<size_t>(dtype_of<T>);
    }
  }
  char* row_bytes(int64_t row) const { return data_ + row * n_ * width_; }
  T* in_place_row(int64_t row) const { return reinterpret_cast<T*>(row_bytes(row)); }

  int64_t n_;
  size_t dtype_;
  int64_t width_;
  char* data_;
  Scratch<T> buffer_;
};

}  // namespace tandem::cpu
