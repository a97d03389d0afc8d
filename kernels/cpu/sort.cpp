// sort, topk, select_ranked. Contract: see kernels/sort_key.h; the order of entries is total, so results do not depend
// on the number of threads. Long rows are sorted by radix, eight bits at a time, in parts that several threads take.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/sort_key.h"

namespace tandem::cpu {

using kernels::key_of;
using kernels::last_entry;
using kernels::make_entry;
using kernels::position_of;
using kernels::SortEntry;

namespace {

constexpr int64_t kShortRow = 192;  // shorter rows are faster to sort by comparison, and need no memory but the stack
constexpr int64_t kMaxParts = 32;
constexpr int kBins = 256;

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
    const int64_t from = position_of(entry);
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
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / 8 / n);
  visit_dtype(x.dtype(), [&]<class T>(T) {
    parallel_for(others.numel, grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        f(SortRow<T>{values.raw<T>() + offset_of(others, 1, k), indices.raw<int64_t>() + offset_of(others, 2, k),
                     x.raw<T>() + offset_of(others, 0, k), values.strides()[d], indices.strides()[d], x.strides()[d]},
          n);
      }
    });
  });
}

template <class T>
void make_entries(SortEntry<T>* entries, const SortRow<T>& row, int64_t n, bool descending) {
  parallel_for(n, kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) entries[i] = make_entry<T>(row.at(i), i, descending);
  });
}

/// Sorts entries that are in the order of their positions: by one digit of the key after another, the lowest first;
/// equal digits keep their order. Returns `entries` or `spare`, where the result is.
template <class E>
E* radix_sort(E* entries, E* spare, int64_t n, size_t key_bytes) {
  const int64_t parts = std::clamp<int64_t>(n / kParallelGrain, 1, kMaxParts);
  const int64_t length = (n + parts - 1) / parts;
  using Counts = std::array<int64_t, kBins>;
  std::vector<Counts> counts(static_cast<size_t>(parts));
  for (size_t byte = 0; byte < key_bytes; ++byte) {
    const auto digit = [shift = 8 * byte](const E& e) { return key_of(e) >> shift & (kBins - 1); };
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

/// Calls f(entries) with the entries of a short row.
template <class T, class F>
void with_short_row(const SortRow<T>& row, int64_t n, bool descending, F f) {
  SortEntry<T> entries[kShortRow];
  for (int64_t i = 0; i < n; ++i) entries[i] = make_entry<T>(row.at(i), i, descending);
  f(entries);
}

/// Leaves the k least of the entries of elements [begin, end) in `best`, in any order.
template <class T>
void find_least(std::vector<SortEntry<T>>& best, const SortRow<T>& row, int64_t begin, int64_t end, int64_t k,
                bool descending) {
  using E = SortEntry<T>;
  constexpr int64_t kBlock = 64;
  const size_t wanted = static_cast<size_t>(k);
  const size_t most = static_cast<size_t>(std::min(end - begin, std::max<int64_t>(2 * k, 256) + kBlock));
  const auto shrink = [&] {
    std::nth_element(best.begin(), best.begin() + (k - 1), best.end());
    best.resize(wanted);
  };
  best.reserve(most + kBlock);
  E bound = last_entry<E>();  // k entries are not above it
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = std::min(kBlock, end - first);
    E block[kBlock];
    for (int64_t i = 0; i < count; ++i) block[i] = make_entry<T>(row.at(first + i), first + i, descending);
    uint64_t least = ~uint64_t{0};
    for (int64_t i = 0; i < count; ++i) least = std::min(least, key_of(block[i]));
    if (least > key_of(bound)) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (block[i] < bound) best.push_back(block[i]);
    }
    if (best.size() + kBlock > most && best.size() > wanted) {
      shrink();
      bound = best[wanted - 1];
    }
  }
  if (best.size() > wanted) shrink();
}

template <class T>
void topk_row(const SortRow<T>& row, int64_t n, int64_t k, bool largest, bool sorted) {
  using E = SortEntry<T>;
  if (n <= kShortRow) {
    return with_short_row(row, n, largest, [&](E* entries) {
      if (k < n) std::nth_element(entries, entries + (k - 1), entries + n);
      if (sorted) std::sort(entries, entries + k);
      for (int64_t i = 0; i < k; ++i) row.put(i, entries[i]);
    });
  }
  const int64_t parts = std::clamp<int64_t>(n / std::max(kParallelGrain, 8 * k), 1, kMaxParts);
  const int64_t length = (n + parts - 1) / parts;
  std::vector<std::vector<E>> of_parts(static_cast<size_t>(parts));
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      find_least<T>(of_parts[static_cast<size_t>(p)], row, p * length, std::min(n, (p + 1) * length), k, largest);
    }
  });
  std::vector<E>& best = of_parts[0];
  for (size_t p = 1; p < of_parts.size(); ++p) best.insert(best.end(), of_parts[p].begin(), of_parts[p].end());
  if (static_cast<int64_t>(best.size()) > k) std::nth_element(best.begin(), best.begin() + (k - 1), best.end());
  if (sorted) std::sort(best.begin(), best.begin() + k);
  for (int64_t i = 0; i < k; ++i) row.put(i, best[static_cast<size_t>(i)]);
}

/// Sorts a long row and stores the first k elements.
template <class T>
void sort_row(const SortRow<T>& row, int64_t n, int64_t k, bool descending) {
  const Scratch<SortEntry<T>> entries(n), spare(n);
  make_entries(entries.data(), row, n, descending);
  const SortEntry<T>* sorted = radix_sort(entries.data(), spare.data(), n, sizeof(T));
  parallel_for(k, kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row.put(i, sorted[i]);
  });
}

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

void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool largest, bool sorted) {
  if (values.numel() == 0) return;
  const int64_t k = values.sizes()[static_cast<size_t>(dim)];
  for_sort_rows(values, indices, x, dim, [k, largest, sorted]<class T>(const SortRow<T>& row, int64_t n) {
    const bool many = n > kShortRow && k > n / 8;  // then sorting by radix is faster than selecting
    many ? sort_row(row, n, k, largest) : topk_row<T>(row, n, k, largest, sorted);
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
