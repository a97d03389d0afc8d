#pragma once
// Walk: the geometry of a few tensors of equal sizes, simplified to the loops needed to visit them together.
#include <algorithm>
#include <array>
#include <cstdint>

#include "tandem/base/checked.h"
#include "tandem/base/shape.h"

namespace tandem::kernels {

/// Loops over N operands, the slowest first; at least one loop. Strides in elements.
template <size_t N>
struct Walk {
  int64_t numel = 1;
  size_t rank = 0;
  std::array<int64_t, kMaxRank + 1> sizes;
  std::array<std::array<int64_t, kMaxRank + 1>, N> strides;

  int64_t row_length() const { return sizes[rank - 1]; }
  int64_t row_stride(size_t k) const { return strides[k][rank - 1]; }
  /// Whether every operand is one block of memory, all in the same order: element i of each is at offset i.
  bool linear() const {
    if (numel == 0) return true;
    if (rank != 1) return false;
    return std::all_of(strides.begin(), strides.end(), [&](const auto& s) { return s[0] == 1; }) || sizes[0] == 1;
  }

  void add(int64_t size, const std::array<int64_t, N>& step) {
    sizes[rank] = size;
    for (size_t k = 0; k < N; ++k) strides[k][rank] = step[k];
    ++rank;
  }
  /// Adds an innermost loop, or extends the current one if no operand has a gap there.
  void append(int64_t size, const std::array<int64_t, N>& step) {
    numel *= size;
    bool joins = rank > 0;
    for (size_t k = 0; k < N && joins; ++k) joins = Checked(step[k]) * size == strides[k][rank - 1];
    if (!joins) return add(size, step);
    sizes[rank - 1] *= size;
    for (size_t k = 0; k < N; ++k) strides[k][rank - 1] = step[k];
  }
  /// Adds a loop if there is none.
  void finish() {
    std::array<int64_t, N> one;
    one.fill(1);
    if (rank == 0) add(1, one);
  }
};

/// The loops over `shape` for the given strides of each operand, in the order of the first operand's memory or, if
/// `row_major`, in the order of the dimensions. Dimensions are merged if no operand has a gap between them. Dimensions
/// in which no operand moves are dropped, so that an expanded element is visited once.
template <size_t N>
Walk<N> make_walk(IntArrayRef shape, const std::array<IntArrayRef, N>& strides, bool row_major = false) {
  Walk<N> walk;
  std::array<size_t, kMaxRank> order;
  size_t count = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool moves = std::any_of(strides.begin(), strides.end(), [d](IntArrayRef s) { return s[d] != 0; });
    if (shape[d] != 1 && (moves || shape[d] == 0)) order[count++] = d;
  }
  if (!row_major) {
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](size_t a, size_t b) { return strides[0][a] > strides[0][b]; });
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t d = order[i];
    std::array<int64_t, N> step;
    for (size_t k = 0; k < N; ++k) step[k] = strides[k][d];
    walk.append(shape[d], step);
  }
  walk.finish();
  return walk;
}

/// Visits elements [begin, end), counted in the walk's order, as parts of rows: f(offsets, length), with the offset of
/// the part's first element in each operand.
template <size_t N, class F>
void for_each_row(const Walk<N>& walk, int64_t begin, int64_t end, F&& f) {
  if (begin >= end) return;
  std::array<int64_t, kMaxRank + 1> index;
  std::array<int64_t, N> offset{};
  int64_t rest = begin;
  for (size_t d = walk.rank; d-- > 0;) {
    index[d] = rest % walk.sizes[d];
    rest /= walk.sizes[d];
    for (size_t k = 0; k < N; ++k) offset[k] += index[d] * walk.strides[k][d];
  }
  const size_t last = walk.rank - 1;
  while (true) {
    const int64_t length = std::min(walk.sizes[last] - index[last], end - begin);
    f(static_cast<const std::array<int64_t, N>&>(offset), length);
    begin += length;
    if (begin >= end) return;
    // Advances to the next row: back to the start of this one, then count up like an odometer.
    for (size_t k = 0; k < N; ++k) offset[k] -= index[last] * walk.strides[k][last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
      for (size_t k = 0; k < N; ++k) offset[k] += walk.strides[k][d];
      if (++index[d] < walk.sizes[d]) break;
      for (size_t k = 0; k < N; ++k) offset[k] -= walk.sizes[d] * walk.strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace tandem::kernels
