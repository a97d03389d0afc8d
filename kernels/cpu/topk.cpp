// topk. Long rows are read twice. The first pass divides a row into a few times k groups and finds the least key of
// each; the k-th least of these is a bound that at least k elements do not exceed, and mostly few others. The second
// pass collects the elements within the bound. Contract: see kernels/sort_key.h; the order of entries is total, so
// results depend neither on the bound nor on the number of threads.
#include <algorithm>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/radix_sort.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/select.h"
#include "kernels/cpu/sort_rows.h"

namespace tandem::cpu {

using kernels::BitsOf;
using kernels::SortEntry;

namespace {

constexpr int64_t kMaxParts = 32;

/// A contiguous row, divided into parts for several threads.
template <class T>
struct Parts {
  const T* x;
  int64_t n, count, length;

  Parts(const T* x, int64_t n, int64_t k)
      : x(x),
        n(n),
        count(std::clamp<int64_t>(n / std::max(kParallelGrain, 8 * k), 1, kMaxParts)),
        length((n + count - 1) / count) {}
  /// Calls f(p, begin, end) for each part.
  template <class F>
  void for_each(F f) const {
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) f(p, p * length, std::min(n, (p + 1) * length));
    });
  }
};

/// Returns a key that at least k keys do not exceed.
template <class T>
BitsOf<T> bound_of_least(const Parts<T>& parts, int64_t k, BitsOf<T> flip) {
  using Key = BitsOf<T>;
  constexpr int64_t kMultiple = 64;  // whole vectors
  const int64_t groups = (4 * k + kMultiple - 1) / kMultiple * kMultiple;
  const Scratch<Key> least(parts.count * groups);
  parts.for_each([&](int64_t p, int64_t begin, int64_t end) {
    Key* of_part = least.data() + p * groups;
    std::fill_n(of_part, groups, static_cast<Key>(~Key{0}));
    select_tables().of<T>().lower(of_part, groups, parts.x + begin, end - begin, flip);
  });
  Key* of_all = least.data();
  for (int64_t p = 1; p < parts.count; ++p) {
    const Key* of_part = least.data() + p * groups;
    for (int64_t i = 0; i < groups; ++i) of_all[i] = std::min(of_all[i], of_part[i]);
  }
  std::nth_element(of_all, of_all + (k - 1), of_all + groups);
  return of_all[k - 1];
}

/// Leaves the k least of the entries, all if there are fewer, in any order.
template <class E>
void keep_least(std::vector<E>& entries, int64_t k) {
  if (static_cast<int64_t>(entries.size()) <= k) return;
  std::nth_element(entries.begin(), entries.begin() + (k - 1), entries.end());
  entries.resize(static_cast<size_t>(k));
}

/// Leaves the entries of elements [begin, end) with keys of at most `bound_key` in `found`, in any order, but at least
/// those that are among the k least.
template <class T>
void find_within(std::vector<SortEntry<T>>& found, const T* x, int64_t begin, int64_t end, int64_t k, bool descending,
                 BitsOf<T> flip, BitsOf<T> bound_key) {
  using E = SortEntry<T>;
  constexpr int64_t kBlock = 1024;
  // With many equal elements, or groups that differ much, there are more than expected. Then the bound is lowered.
  const size_t most = static_cast<size_t>(std::max<int64_t>(2 * k, kBlock));
  found.reserve(static_cast<size_t>(std::min(end - begin, k + 64)));
  E bound = kernels::last_entry_of<T>(bound_key);
  int32_t positions[kBlock];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = select_tables().of<T>().find(positions, x + first, std::min(kBlock, end - first), flip,
                                                       static_cast<BitsOf<T>>(kernels::key_of(bound)));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = first + positions[i];
      const E entry = kernels::make_entry<T>(x[at], at, descending);
      if (!(bound < entry)) found.push_back(entry);
    }
    if (found.size() >= most) {
      keep_least(found, k);
      bound = found[static_cast<size_t>(k - 1)];
    }
  }
}

template <class T>
void topk_long_row(const SortRow<T>& row, int64_t n, int64_t k, bool largest, bool sorted) {
  const bool contiguous = row.x_step == 1;
  const Scratch<T> copy(contiguous ? 0 : n);
  const Parts<T> parts(contiguous ? row.x : copy.data(), n, k);
  if (!contiguous) {
    parts.for_each([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) copy.data()[i] = row.at(i);
    });
  }
  const BitsOf<T> flip = static_cast<BitsOf<T>>(largest ? ~BitsOf<T>{0} : BitsOf<T>{0});
  const BitsOf<T> bound = bound_of_least(parts, k, flip);
  std::vector<std::vector<SortEntry<T>>> found(static_cast<size_t>(parts.count));
  parts.for_each([&](int64_t p, int64_t begin, int64_t end) {
    find_within(found[static_cast<size_t>(p)], parts.x, begin, end, k, largest, flip, bound);
  });
  std::vector<SortEntry<T>>& best = found[0];
  for (size_t p = 1; p < found.size(); ++p) best.insert(best.end(), found[p].begin(), found[p].end());
  keep_least(best, k);
  if (sorted) std::sort(best.begin(), best.end());
  for (int64_t i = 0; i < k; ++i) row.put(i, best[static_cast<size_t>(i)]);
}

}  // namespace

void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool largest, bool sorted) {
  if (values.numel() == 0) return;
  const int64_t k = values.sizes()[static_cast<size_t>(dim)];
  for_sort_rows(values, indices, x, dim, [k, largest, sorted]<class T>(const SortRow<T>& row, int64_t n) {
    if (n <= kShortRow) {
      return with_short_row(row, n, largest, [&](auto* entries) {
        if (k < n) std::nth_element(entries, entries + (k - 1), entries + n);
        if (sorted) std::sort(entries, entries + k);
        for (int64_t i = 0; i < k; ++i) row.put(i, entries[i]);
      });
    }
    if (k > n / 8) return sort_row(row, n, k, largest);  // faster than selecting so many
    topk_long_row(row, n, k, largest, sorted);
  });
}

}  // namespace tandem::cpu
