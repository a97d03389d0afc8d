#pragma once
// Transposition of a matrix in memory, for elements of 1, 2, 4 or 8 bytes.
//
// Squares as wide as a cache line pass through a buffer, so that each line of the source is read once and each line of
// the destination written once, even if power-of-two strides map many lines to the same cache set.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tandem::cpu {

namespace detail {

/// 16 bytes of T.
template <class T>
struct Vector16 {
  static constexpr int kCount = 16 / sizeof(T);
  typedef T Type __attribute__((vector_size(16)));
};

/// a_first, b_first, a_(first+1), b_(first+1), ...
template <int first, class V, int... i>
V interleave(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  return __builtin_shufflevector(a, b, (first + i / 2 + (i % 2) * n)...);
}

/// Transposes a square of Vector16<T>::kCount elements. Each round interleaves the upper half of the rows with the
/// lower half, which moves one bit of an element's row number into its column number.
template <class T>
void transpose_square(T* dst, int64_t dst_row, const T* src, int64_t src_row) {
  using V = typename Vector16<T>::Type;
  constexpr int n = Vector16<T>::kCount;
  constexpr auto indices = std::make_integer_sequence<int, n>();
  V rows[n], next[n];
  for (int i = 0; i < n; ++i) std::memcpy(&rows[i], src + i * src_row, sizeof(V));
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = interleave<0>(rows[i], rows[i + n / 2], indices);
      next[2 * i + 1] = interleave<n / 2>(rows[i], rows[i + n / 2], indices);
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < n; ++i) std::memcpy(dst + i * dst_row, &rows[i], sizeof(V));
}

}  // namespace detail

/// dst[r dst_row + c] = src[r + c src_column] for r < rows, c < columns.
template <class T>
void transpose(T* dst, int64_t dst_row, const T* src, int64_t src_column, int64_t rows, int64_t columns) {
  if (columns == 2 && dst_row == 2) {  // interleaves two vectors
    for (int64_t r = 0; r < rows; ++r) {
      dst[2 * r] = src[r];
      dst[2 * r + 1] = src[r + src_column];
    }
    return;
  }
  constexpr int64_t kLine = 64 / sizeof(T), kSquare = detail::Vector16<T>::kCount;
  alignas(64) T turned[kLine * kLine];
  for (int64_t r0 = 0; r0 < rows; r0 += kLine) {
    for (int64_t c0 = 0; c0 < columns; c0 += kLine) {
      const int64_t height = std::min(kLine, rows - r0), width = std::min(kLine, columns - c0);
      const T* s = src + r0 + c0 * src_column;
      T* d = dst + r0 * dst_row + c0;
      if (height < kLine || width < kLine) {
        for (int64_t r = 0; r < height; ++r) {
          for (int64_t c = 0; c < width; ++c) d[r * dst_row + c] = s[r + c * src_column];
        }
        continue;
      }
      for (int64_t c = 0; c < kLine; c += kSquare) {
        for (int64_t r = 0; r < kLine; r += kSquare) {
          detail::transpose_square(turned + r * kLine + c, kLine, s + c * src_column + r, src_column);
        }
      }
      for (int64_t r = 0; r < kLine; ++r) std::memcpy(d + r * dst_row, turned + r * kLine, sizeof(T) * kLine);
    }
  }
}

}  // namespace tandem::cpu
