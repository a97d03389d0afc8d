// sort, select_ranked. Contract: see kernels/sort_key.h; the order of entries is total, so results do not depend on the
// number of threads.
#include <algorithm>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/radix_sort.h"
#include "kernels/cpu/sort_rows.h"

namespace tandem::cpu {

using kernels::make_entry;
using kernels::SortEntry;

namespace {

/// Returns entry k of the ascending order. Counts the leading digits of long rows first, so that only few entries are
/// compared.
template <class T>
SortEntry<T> select_entry(const SortRow<T>& row, int64_t n, int64_t k) {
  using E = SortEntry<T>;
  if (n <= kShortRow) {
    E chosen;
    with_short_row(row, n, false, [&](E* entries) {
      std::nth_element(entries, entries + k, entries + n);
      chosen = entries[k];
    });
    return chosen;
  }
  constexpr int kBits = sizeof(T) == 1 ? 8 : 11, kShift = 8 * sizeof(T) - kBits;
  std::vector<int64_t> counts(size_t{1} << kBits);
  const auto digit = [&](int64_t i) { return static_cast<size_t>(kernels::sort_key(row.at(i)) >> kShift); };
  for (int64_t i = 0; i < n; ++i) ++counts[digit(i)];
  size_t chosen = 0;
  while (k >= counts[chosen]) k -= counts[chosen++];
  std::vector<E> entries;
  entries.reserve(static_cast<size_t>(counts[chosen]));
  for (int64_t i = 0; i < n; ++i) {
    if (digit(i) == chosen) entries.push_back(make_entry<T>(row.at(i), i, false));
  }
  std::nth_element(entries.begin(), entries.begin() + k, entries.end());
  return entries[static_cast<size_t>(k)];
}

/// The number of elements that are not NaN.
template <class T>
int64_t count_numbers(const SortRow<T>& row, int64_t n) {
  int64_t count = n;
  if constexpr (kernels::kIsFloatingElement<T>) {
    for (int64_t i = 0; i < n; ++i) count -= kernels::is_nan_key<T>(kernels::sort_key(row.at(i)));
  }
  return count;
}

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending) {
  if (x.numel() == 0) return;
  for_sort_rows(values, indices, x, dim, [descending]<class T>(const SortRow<T>& row, int64_t n) {
    using E = SortEntry<T>;
    if (n <= kShortRow) {
      return with_short_row(row, n, descending, [&](E* entries) {
        std::sort(entries, entries + n);
        for (int64_t i = 0; i < n; ++i) row.put(i, entries[i]);
      });
    }
    sort_row(row, n, n, descending);
  });
}

void select_ranked(const Tensor& values, const Tensor& indices, kernels::Rank rank, const Tensor& x, int64_t dim,
                   int64_t k) {
  if (values.numel() == 0) return;
  for_sort_rows(values, indices, x, dim, [rank, k]<class T>(const SortRow<T>& row, int64_t n) {
    int64_t at = k;
    if (rank != kernels::Rank::kth) {
      const int64_t numbers = count_numbers<T>(row, n);
      at = (numbers - 1) / 2;
      if (numbers == 0) at = 0;
      if (rank == kernels::Rank::median && numbers < n) at = numbers;  // NaN are last
    }
    row.put(0, select_entry<T>(row, n, at));
  });
}

}  // namespace tandem::cpu
