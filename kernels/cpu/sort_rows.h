#pragma once
// Rows of values, indices and x, for kernels that sort or select along a dimension.

#include "kernels/cpu/rows.h"
#include "kernels/sort_key.h"

namespace tandem::cpu {

inline constexpr int64_t kShortRow =
    192;  // shorter rows are faster to sort by comparison, and need no memory but the stack

/// One row of the three tensors.
template <class T>
struct SortRow {
  T* values;
  int64_t* indices;
  const T* x;
  int64_t value_step, index_step, x_step;

  T at(int64_t i) const { return x[i * x_step]; }
  template <class E>
  void put(int64_t i, const E& entry) const {
    const int64_t from = kernels::position_of(entry);
    values[i * value_step] = at(from);
    indices[i * index_step] = from;
  }
};

/// Calls f(row, n) for all rows of x along `dim`, with T the type of x; several threads share the rows.
template <class F>
void for_sort_rows(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, F f) {
  const size_t d = static_cast<size_t>(dim);
  const int64_t n = x.sizes()[d];
  // values may be shorter than x along dim, so the sizes of the rows are x's.
  const Space others = other_dimensions({&x, &values, &indices}, dim);
  visit_arithmetic_dtype(x.dtype(), [&]<class T>(T) {
    parallel_for(others.numel, grain_of(8 * n), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        f(SortRow<T>{values.raw<T>() + offset_of(others, 1, k), indices.raw<int64_t>() + offset_of(others, 2, k),
                     x.raw<T>() + offset_of(others, 0, k), values.strides()[d], indices.strides()[d], x.strides()[d]},
          n);
      }
    });
  });
}

/// Calls f(entries) with the entries of a short row.
template <class T, class F>
void with_short_row(const SortRow<T>& row, int64_t n, bool descending, F f) {
  kernels::SortEntry<T> entries[kShortRow];
  for (int64_t i = 0; i < n; ++i) entries[i] = kernels::make_entry<T>(row.at(i), i, descending);
  f(entries);
}

}  // namespace tandem::cpu
