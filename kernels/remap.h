#pragma once
// The index maps of remap and remap_backward, shared by both backends.
#include <algorithm>
#include <array>

#include "tandem/backend.h"
#include "tandem/base/macros.h"

namespace tandem::kernels {

/// Indices begin, begin + 1, ... of y, which come from source, source + step, ... of x, or from the fill.
struct Run {
  int64_t begin, length, source, step;
  bool is_fill;
};

/// The runs of a dimension of size m in y and n in x: at most three.
struct Runs {
  std::array<Run, 3> run;
  size_t count = 0;

  Runs(Border border, int64_t shift, int64_t n, int64_t m) {
    const int64_t first = std::clamp<int64_t>(shift, 0, m), last = std::clamp<int64_t>(shift + n, first, m);
    const bool fills = border == Border::fill;
    int64_t begin = first, end = last;  // of the part that is copied
    if (border == Border::reflect) {
      // The border itself is its own mirror image. Joining it saves a run of length 1, as in a flip.
      if (first > 0 && last - first == 1) begin = last;
      if (first == 0 && last < m && last - first == 1) end = first;
    }
    if (begin > 0) {
      const int64_t p = 0 - shift;
      add(border == Border::reflect    ? Run{0, begin, -p, -1, false}
          : border == Border::circular ? Run{0, begin, p + n, 1, false}
                                       : Run{0, begin, 0, 0, fills});
    }
    if (end > begin) add({begin, end - begin, begin - shift, 1, false});
    if (end < m) {
      const int64_t p = end - shift;
      add(border == Border::reflect    ? Run{end, m - end, 2 * (n - 1) - p, -1, false}
          : border == Border::circular ? Run{end, m - end, p - n, 1, false}
                                       : Run{end, m - end, n - 1, 0, fills});
    }
  }

 private:
  void add(const Run& r) { run[count++] = r; }
};

/// The index of x that index p = i - shift stands for, or -1 for the fill.
TANDEM_HOST_DEVICE inline int64_t source_of(Border border, int64_t p, int64_t n) {
  if (p >= 0 && p < n) return p;
  switch (border) {
    case Border::reflect:
      return p < 0 ? -p : 2 * (n - 1) - p;
    case Border::replicate:
      return p < 0 ? 0 : n - 1;
    case Border::circular:
      return p < 0 ? p + n : p - n;
    default:
      return -1;
  }
}

/// The indices of y, of size m, that come from index j of x, of size n: at(0), ..., at(count - 1).
struct Copies {
  int64_t first = 0, second = 0, third = 0, count = 0;
  bool adjacent;

  TANDEM_HOST_DEVICE Copies(Border border, int64_t shift, int64_t n, int64_t m, int64_t j)
      : adjacent(border == Border::replicate) {
    if (adjacent) {
      first = j == 0 ? 0 : j + shift;
      int64_t end = j == n - 1 ? m : j + shift + 1;
      first = first < 0 ? 0 : first;
      end = end > m ? m : end;
      count = end > first ? end - first : 0;
      return;
    }
    const int64_t p = j + shift;
    if (p >= 0 && p < m) first = p, count = 1;
    if (border == Border::reflect) {
      if (j > 0) add(shift - j, m);
      if (j < n - 1) add(2 * (n - 1) - j + shift, m);
    } else if (border == Border::circular) {
      add(p - n, m);
      add(p + n, m);
    }
  }
  TANDEM_HOST_DEVICE int64_t at(int64_t k) const {
    return adjacent ? first + k : k == 0 ? first : k == 1 ? second : third;
  }

 private:
  TANDEM_HOST_DEVICE void add(int64_t i, int64_t m) {
    if (i < 0 || i >= m) return;
    if (count == 0) {
      first = i;
    } else if (count == 1) {
      second = i;
    } else {
      third = i;
    }
    ++count;
  }
};

/// Returns true for a dimension in which indices stay as they are.
inline bool is_unmapped(const Tensor& y, const Tensor& x, const IndexMap& map, size_t d) {
  return map.shift[d] == 0 && y.sizes()[d] == x.sizes()[d];
}

}  // namespace tandem::kernels
