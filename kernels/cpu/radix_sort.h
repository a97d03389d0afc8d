#pragma once
// Sorts long rows by radix, eight bits at a time, in parts that several threads take.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/cpu/scratch.h"
#include "kernels/cpu/sort_rows.h"

namespace tandem::cpu {

namespace detail {

inline constexpr int64_t kMaxSortParts = 32;
inline constexpr int kBins = 256;

template <class T>
void make_entries(kernels::SortEntry<T>* entries, const SortRow<T>& row, int64_t n, bool descending) {
  parallel_for(n, kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) entries[i] = kernels::make_entry<T>(row.at(i), i, descending);
  });
}

/// Sorts entries that are in the order of their positions: by one digit of the key after another, the lowest first;
/// equal digits keep their order. Returns `entries` or `spare`, where the result is.
template <class E>
E* radix_sort(E* entries, E* spare, int64_t n, size_t key_bytes) {
  const int64_t parts = std::clamp<int64_t>(n / kParallelGrain, 1, kMaxSortParts);
  const int64_t length = (n + parts - 1) / parts;
  using Counts = std::array<int64_t, kBins>;
  std::vector<Counts> counts(static_cast<size_t>(parts));
  for (size_t byte = 0; byte < key_bytes; ++byte) {
    const auto digit = [shift = 8 * byte](const E& e) { return kernels::key_of(e) >> shift & (kBins - 1); };
    const auto for_parts = [&](auto f) {
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          f(counts[static_cast<size_t>(p)], p * length, std::min(n, (p + 1) * length));
        }
      });
    };
    for_parts([&](Counts& count, int64_t begin, int64_t end) {
      count.fill(0);
      for (int64_t i = begin; i < end; ++i) ++count[digit(entries[i])];
    });
    // The position of each part's first entry with each digit.
    int64_t before = 0;
    bool one_digit = false;
    for (size_t b = 0; b < kBins; ++b) {
      const int64_t first = before;
      for (Counts& count : counts) before += std::exchange(count[b], before);
      one_digit = one_digit || before - first == n;
    }
    if (one_digit) continue;
    for_parts([&](Counts& place, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) spare[place[digit(entries[i])]++] = entries[i];
    });
    std::swap(entries, spare);
  }
  return entries;
}

}  // namespace detail

/// Sorts a long row and stores the first k elements.
template <class T>
void sort_row(const SortRow<T>& row, int64_t n, int64_t k, bool descending) {
  const Scratch<kernels::SortEntry<T>> entries(n), spare(n);
  detail::make_entries(entries.data(), row, n, descending);
  const kernels::SortEntry<T>* sorted = detail::radix_sort(entries.data(), spare.data(), n, sizeof(T));
  parallel_for(k, kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row.put(i, sorted[i]);
  });
}

}  // namespace tandem::cpu
