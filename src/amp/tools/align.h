#pragma once
// The longest common subsequence of two sequences, used to match the calls of two runs. Internal.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tandem::amp {

/// Returns the longest list of pairs (i, j) with a[i] == b[j] in which both indices increase. Takes time and memory of
/// (size + differences) * differences. Source: E. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
template <class T>
std::vector<std::pair<size_t, size_t>> align(const std::vector<T>& a, const std::vector<T>& b) {
  const auto n = static_cast<ptrdiff_t>(a.size()), m = static_cast<ptrdiff_t>(b.size());
  const auto same = [&](ptrdiff_t x, ptrdiff_t y) { return a[static_cast<size_t>(x)] == b[static_cast<size_t>(y)]; };
  // reach[d][k + d]: the furthest x on diagonal x - y = k that d insertions and deletions can reach.
  std::vector<std::vector<ptrdiff_t>> reach;
  const auto at = [&](ptrdiff_t d, ptrdiff_t k) {
    return k < -d || k > d || (k + d) % 2 != 0 ? ptrdiff_t{-1}
                                               : reach[static_cast<size_t>(d)][static_cast<size_t>(k + d)];
  };
  // Where the step to (d, k) starts, before its run of equal elements.
  const auto start = [&](ptrdiff_t d, ptrdiff_t k) -> std::pair<ptrdiff_t, ptrdiff_t> {  // x, previous k
    if (d == 0) return {0, 0};
    const ptrdiff_t down = at(d - 1, k + 1), right = at(d - 1, k - 1);
    return k == -d || (k != d && right < down) ? std::pair{down, k + 1} : std::pair{right + 1, k - 1};
  };
  for (ptrdiff_t d = 0;; ++d) {
    reach.emplace_back(static_cast<size_t>(2 * d + 1), -1);
    for (ptrdiff_t k = -d; k <= d; k += 2) {
      ptrdiff_t x = start(d, k).first;
      while (x < n && x - k < m && same(x, x - k)) ++x;
      reach.back()[static_cast<size_t>(k + d)] = x;
      if (x < n || x - k < m) continue;
      // Both ends reached: go back along the steps and collect the runs.
      std::vector<std::pair<size_t, size_t>> pairs;
      for (; d >= 0; --d) {
        const auto [from, previous] = start(d, k);
        for (; x > from; --x) pairs.emplace_back(x - 1, x - 1 - k);
        k = previous;
        if (d > 0) x = at(d - 1, k);
      }
      std::reverse(pairs.begin(), pairs.end());
      return pairs;
    }
  }
}

}  // namespace tandem::amp
