// nonzero: counts the true elements of each part of x, then writes their coordinates, so that every part knows where
// its first one goes. Neither pass branches on x's elements: branches on random masks are mispredicted half of the
// time.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kMaskBlock = 256;

int64_t count_true(const bool* x, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, x + i, sizeof bytes);
    count += static_cast<int64_t>((bytes * 0x0101010101010101u) >> 56);  // the sum of the bytes, each 0 or 1
  }
  for (; i < n; ++i) count += x[i];
  return count;
}

/// Writes the positions of the true elements among n <= kMaskBlock and returns their number. `positions` holds n.
int64_t find_true(int32_t* positions, const bool* x, int64_t n) {
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    positions[found] = static_cast<int32_t>(i);
    found += x[i];
  }
  return found;
}

/// Writes the coordinates of the true elements in [begin, end) of x to the rows of y from `row` on.
void write_coordinates(const Tensor& y, int64_t row, const Tensor& x, int64_t begin, int64_t end) {
  const IntArrayRef sizes = x.sizes();
  const size_t last = sizes.size() - 1;
  const int64_t row_step = y.strides()[0], step = y.strides()[1];
  const bool* const values = x.raw<bool>();
  int64_t* to = y.raw<int64_t>() + row * row_step;
  int64_t at[kMaxRank];
  int64_t rest = begin;
  for (size_t d = last + 1; d-- > 0;) {
    at[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  int32_t positions[kMaskBlock];
  while (begin < end) {
    const int64_t n = std::min({sizes[last] - at[last], end - begin, kMaskBlock});
    const int64_t found = find_true(positions, values + begin, n);
    for (size_t d = 0; d < last; ++d) {
      for (int64_t i = 0; i < found; ++i) to[i * row_step + static_cast<int64_t>(d) * step] = at[d];
    }
    int64_t* const columns = to + static_cast<int64_t>(last) * step;
    if (row_step == 1) {
      for (int64_t i = 0; i < found; ++i) columns[i] = at[last] + positions[i];
    } else {
      for (int64_t i = 0; i < found; ++i) columns[i * row_step] = at[last] + positions[i];
    }
    to += found * row_step;
    begin += n;
    at[last] += n;
    for (size_t d = last; d > 0 && at[d] == sizes[d]; --d) {
      at[d] = 0;
      ++at[d - 1];
    }
  }
}

}  // namespace

void nonzero(const Tensor& y, const Tensor& x) {
  const int64_t numel = x.numel(), parts = (numel + kParallelGrain - 1) / kParallelGrain;
  const bool* const values = x.raw<bool>();
  const auto end_of = [&](int64_t part) { return std::min(numel, (part + 1) * kParallelGrain); };
  std::vector<int64_t> first(static_cast<size_t>(parts) + 1, 0);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t start = part * kParallelGrain;
      first[static_cast<size_t>(part) + 1] = count_true(values + start, end_of(part) - start);
    }
  });
  for (size_t part = 1; part < first.size(); ++part) first[part] += first[part - 1];
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      write_coordinates(y, first[static_cast<size_t>(part)], x, part * kParallelGrain, end_of(part));
    }
  });
}

}  // namespace tandem::cpu
