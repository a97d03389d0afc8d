// remap and remap_backward against plain loops.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

const char* name_of(Border border) {
  constexpr const char* names[] = {"fill", "reflect", "replicate", "circular"};
  return names[static_cast<int>(border)];
}

/// The index of x for index i of y, found by walking from the border; -1 for the fill.
int64_t source(Border border, int64_t p, int64_t n) {
  while (p < 0 || p >= n) {
    if (border == Border::fill) return -1;
    if (border == Border::reflect) {
      p = p < 0 ? -p : 2 * (n - 1) - p;
    } else {
      p += (border == Border::circular ? n : 1) * (p < 0 ? 1 : -1);
    }
  }
  return p;
}

/// Calls f(place in y, place in x or -1) for each element of y.
void for_each_copy(const Dims& ys, const Dims& xs, const IndexMap& map,
                   const std::function<void(int64_t, int64_t)>& f) {
  for (int64_t at = 0; at < numel_of(ys); ++at) {
    int64_t rest = at, place = 0, step = 1;
    for (size_t d = ys.size(); d-- > 0;) {
      const int64_t from = source(map.border, rest % ys[d] - map.shift[d], xs[d]);
      rest /= ys[d];
      place = from < 0 || place < 0 ? -1 : place + from * step;
      step *= xs[d];
    }
    f(at, place);
  }
}

struct Map {
  Dims y, x;
  IndexMap map;
};

void check_remap(const Map& m, DType dtype, MemoryLayout layout) {
  const std::string what = to_string(m.x) + " to " + to_string(m.y) + " " + name_of(m.map.border) + " " +
                           std::string(name(dtype)) + " " + name(layout);
  const Tensor x = unwritten(m.x, dtype, layout), y = unwritten(m.y, dtype, layout);
  Values in;
  for (int64_t i = 0; i < x.numel(); ++i)
    in.push_back(dtype == kBool ? static_cast<double>(i % 2) : static_cast<double>(i % 100 + 1));
  write(x, in);
  under_test().remap(y, x, m.map, 1);
  Values want(static_cast<size_t>(y.numel()));
  for_each_copy(m.y, m.x, m.map, [&](int64_t to, int64_t from) {
    want[static_cast<size_t>(to)] = from < 0 ? 1 : in[static_cast<size_t>(from)];
  });
  EXPECT_EQ(read(y), want) << what;
}

void check_backward(const Map& m, DType dtype, MemoryLayout layout) {
  const std::string what = to_string(m.x) + " to " + to_string(m.y) + " " + name_of(m.map.border) + " " +
                           std::string(name(dtype)) + " " + name(layout);
  const Tensor gy = noise(m.y, dtype, 1, layout), gx = unwritten(m.x, dtype, layout);
  under_test().remap_backward(gx, gy, m.map);
  const Values in = read(gy);
  Values want(static_cast<size_t>(gx.numel()));
  for_each_copy(m.y, m.x, m.map, [&](int64_t from, int64_t to) {
    if (to >= 0) want[static_cast<size_t>(to)] += in[static_cast<size_t>(from)];
  });
  expect_near(gx, want, 64, what);
}

const Map maps[] = {
    {{8}, {5}, {Border::fill, {2}}},
    {{3}, {5}, {Border::fill, {-1}}},
    {{4}, {0}, {Border::fill, {1}}},
    {{2, 6, 7}, {2, 3, 4}, {Border::fill, {0, 1, 2}}},
    {{4, 2, 3, 3, 2}, {2, 2, 5, 3, 1}, {Border::fill, {1, 0, -1, 0, 0}}},
    {{5}, {5}, {Border::reflect, {-4}}},
    {{4, 3}, {4, 3}, {Border::reflect, {-3, -2}}},
    {{2, 3, 1, 4}, {2, 3, 1, 4}, {Border::reflect, {0, -2, 0, -3}}},
    {{}, {}, {Border::reflect, {}}},
    {{2, 9}, {2, 4}, {Border::reflect, {0, 3}}},
    {{2, 5}, {2, 4}, {Border::reflect, {0, -1}}},
    {{1, 2, 5, 7}, {1, 2, 3, 4}, {Border::reflect, {0, 0, 1, 2}}},
    {{2, 1, 3, 4, 5}, {2, 1, 2, 2, 3}, {Border::reflect, {0, 0, 0, 1, 2}}},
    {{2, 9}, {2, 1}, {Border::replicate, {0, 3}}},
    {{2, 6}, {2, 4}, {Border::replicate, {0, -1}}},
    {{1, 2, 6, 7}, {1, 2, 3, 4}, {Border::replicate, {0, 0, 2, 0}}},
    {{2, 1, 3, 4, 5}, {2, 1, 2, 1, 3}, {Border::replicate, {0, 0, 0, 2, 1}}},
    {{5}, {5}, {Border::circular, {2}}},
    {{3, 4, 5}, {3, 4, 5}, {Border::circular, {1, 0, 4}}},
    {{2, 11}, {2, 4}, {Border::circular, {0, 3}}},
    {{2, 3, 6, 8, 6}, {2, 3, 2, 4, 2}, {Border::circular, {0, 0, 2, 1, 2}}},
};

TEST(RemapKernels, Dtypes) {
  for (const Map& m : maps) {
    for (DType dtype : {kFloat, kHalf, kBFloat16, kDouble, kLong, kInt, kShort, kByte, kBool}) {
      check_remap(m, dtype, MemoryLayout::contiguous);
    }
  }
}

TEST(RemapKernels, Layouts) {
  for (const Map& m : maps) {
    for (MemoryLayout layout :
         {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
      check_remap(m, kFloat, layout);
    }
  }
}

/// In at most three dimensions, of x that is not empty.
bool has_backward(const Map& m) {
  size_t mapped = 0;
  for (size_t d = 0; d < m.y.size(); ++d) mapped += m.map.shift[d] != 0 || m.y[d] != m.x[d];
  return mapped <= 3 && !m.y.empty();
}

TEST(RemapKernels, Backward) {
  for (const Map& m : maps) {
    if (!has_backward(m)) continue;
    for (DType dtype : kFloatingTypes) check_backward(m, dtype, MemoryLayout::contiguous);
    for (MemoryLayout layout :
         {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
      check_backward(m, kFloat, layout);
    }
  }
}

TEST(RemapKernels, LongRows) {
  check_remap({{3, 20000}, {3, 20000}, {Border::reflect, {0, -19999}}}, kHalf, MemoryLayout::contiguous);
  check_remap({{70, 300}, {68, 298}, {Border::fill, {1, 1}}}, kFloat, MemoryLayout::contiguous);
  check_backward({{1, 70, 300}, {1, 66, 290}, {Border::reflect, {0, 2, 5}}}, kFloat, MemoryLayout::contiguous);
}

}  // namespace
}  // namespace tandem
