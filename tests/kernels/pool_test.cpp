// Pooling against the definition, in f64.
#include <algorithm>
#include <limits>

#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

struct PoolCase {
  const char* what;
  int64_t n, c, h, w;
  Pool2dParams p;

  Dims x_sizes() const { return {n, c, h, w}; }
  // Source: PyTorch's pooling_output_shape.
  int64_t out(size_t d) const {
    const int64_t in = d == 0 ? h : w, reach = p.dilation[d] * (p.kernel[d] - 1) + 1;
    const int64_t room = in + 2 * p.padding[d] - reach + (p.ceil_mode ? p.stride[d] - 1 : 0);
    int64_t o = room / p.stride[d] + 1;
    if (p.ceil_mode && (o - 1) * p.stride[d] >= in + p.padding[d]) --o;
    return o;
  }
  Dims y_sizes() const { return {n, c, out(0), out(1)}; }

  /// Calls f(index of y, index of x, cell) for every tap inside the image.
  template <class F>
  void for_each_tap(F&& f) const {
    const int64_t oh = out(0), ow = out(1);
    for (int64_t i = 0; i < n * c * oh * ow; ++i) {
      const int64_t plane = i / (oh * ow), r = i / ow % oh, q = i % ow;
      for (int64_t cell = 0; cell < p.kernel[0] * p.kernel[1]; ++cell) {
        const int64_t row = r * p.stride[0] - p.padding[0] + cell / p.kernel[1] * p.dilation[0];
        const int64_t column = q * p.stride[1] - p.padding[1] + cell % p.kernel[1] * p.dilation[1];
        if (row >= 0 && row < h && column >= 0 && column < w) f(i, (plane * h + row) * w + column, cell);
      }
    }
  }
};

const PoolCase kPoolCases[] = {
    {"2x2", 2, 20, 8, 8, {.kernel = {2, 2}, .stride = {2, 2}}},
    {"overlapping", 2, 3, 9, 7, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
    {"stride 1", 1, 17, 6, 9, {.kernel = {3, 2}, .stride = {1, 1}, .padding = {1, 0}}},
    {"ceil", 1, 5, 7, 10, {.kernel = {3, 3}, .stride = {2, 3}, .padding = {1, 1}, .ceil_mode = true}},
    {"gaps", 2, 4, 11, 12, {.kernel = {2, 1}, .stride = {4, 3}}},
    {"16 channels", 2, 16, 7, 10, {.kernel = {3, 2}, .stride = {3, 3}, .padding = {1, 0}, .ceil_mode = true}},
    {"8 channels, overlapping", 1, 8, 9, 7, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
    {"large window", 1, 8, 20, 20, {.kernel = {17, 17}, .stride = {3, 2}, .padding = {8, 4}}},
    {"2x2, runs of columns", 2, 3, 6, 16, {.kernel = {2, 2}, .stride = {2, 2}}},
    {"2x2, short runs of columns", 2, 3, 7, 11, {.kernel = {2, 2}, .stride = {2, 2}}},
    {"2x2, a column after the last run", 1, 2, 6, 9, {.kernel = {2, 2}, .stride = {2, 2}}},
    {"2x2, padded runs of columns", 1, 2, 6, 16, {.kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 1}}},
    {"2x2, ceil", 1, 2, 5, 15, {.kernel = {2, 2}, .stride = {2, 2}, .ceil_mode = true}},
    {"3x2, overlapping rows of runs", 1, 2, 7, 16, {.kernel = {3, 2}, .stride = {1, 2}}},
    {"3x3, runs of columns", 2, 3, 9, 16, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
    {"3x3, short runs of columns", 1, 2, 6, 13, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
    {"3x3, runs of columns without padding", 1, 2, 7, 17, {.kernel = {3, 3}, .stride = {2, 2}}},
    {"2x3, ceil", 1, 2, 7, 16, {.kernel = {2, 3}, .stride = {2, 2}, .padding = {0, 1}, .ceil_mode = true}},
    {"one channel", 2, 1, 28, 28, {.kernel = {2, 2}, .stride = {2, 2}}},
};
const PoolCase kDilated[] = {
    {"dilated", 2, 6, 9, 11, {.kernel = {2, 3}, .stride = {1, 2}, .padding = {1, 1}, .dilation = {3, 2}}},
    {"taps in the padding only",
     1,
     2,
     4,
     4,
     {.kernel = {2, 2}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {5, 5}}},
};
constexpr MemoryLayout kPoolLayouts[] = {MemoryLayout::contiguous, MemoryLayout::channels_last};

template <class F>
void for_each_pool_case(bool dilated, F&& f) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : kPoolLayouts) {
      auto run = [&](const PoolCase& c) {
        f(c, dtype, layout, std::string(c.what) + " " + std::string(name(dtype)) + " " + name(layout));
      };
      for (const PoolCase& c : kPoolCases) run(c);
      if (!dilated) continue;
      for (const PoolCase& c : kDilated) run(c);
    }
  }
}

DType index_dtype(const PoolCase& c) { return c.p.kernel[0] * c.p.kernel[1] <= 256 ? kByte : kInt; }

// Finds the largest values and their cells. NaN counts as largest; among equal values the first is chosen.
void find_maxima(const PoolCase& c, const std::vector<double>& x, std::vector<double>& values,
                 std::vector<double>& cells) {
  values.assign(static_cast<size_t>(numel_of(c.y_sizes())), -std::numeric_limits<double>::infinity());
  cells.assign(values.size(), -1);
  c.for_each_tap([&](int64_t i, int64_t j, int64_t cell) {
    if (cells[i] >= 0 && !(x[j] > values[i]) && !(std::isnan(x[j]) && !std::isnan(values[i]))) return;
    values[i] = x[j];
    cells[i] = static_cast<double>(cell);
  });
}

void check_max(const PoolCase& c, const Tensor& x, MemoryLayout layout, const std::string& what) {
  const Tensor y = unwritten(c.y_sizes(), x.dtype(), layout), indices = unwritten(c.y_sizes(), index_dtype(c), layout);
  std::vector<double> values, cells;
  find_maxima(c, read(x), values, cells);
  under_test().max_pool2d(y, indices, x, c.p);
  EXPECT_TRUE(near(y, values, kExact)) << what;
  const std::vector<double> found = read(indices);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] < 0) continue;
    ASSERT_EQ(found[i], cells[i]) << what << ": index " << i;
  }
}

TEST(MaxPool2d, Forward) {
  for_each_pool_case(true, [](const PoolCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    check_max(c, noise(c.x_sizes(), dtype, 1, layout), layout, what);
  });
}

TEST(MaxPool2d, FirstOfEqualsWins) {
  for_each_pool_case(true, [](const PoolCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor x = unwritten(c.x_sizes(), dtype, layout);
    std::vector<double> values = random_values(x.numel(), 1, -2, 2);
    for (double& v : values) v = std::round(v);
    write(x, values);
    check_max(c, x, layout, what);
    write(x, std::vector<double>(values.size(), -std::numeric_limits<double>::infinity()));
    check_max(c, x, layout, what + " of -inf");
  });
}

TEST(MaxPool2d, NaNWins) {
  for_each_pool_case(true, [](const PoolCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor x = noise(c.x_sizes(), dtype, 1, layout);
    for (int64_t i = 0; i < x.numel(); i += 7) set(x, i, NAN);
    check_max(c, x, layout, what);
  });
}

TEST(MaxPool2d, BackwardAndGather) {
  for_each_pool_case(true, [](const PoolCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor x = noise(c.x_sizes(), dtype, 1, layout), y = unwritten(c.y_sizes(), dtype, layout);
    const Tensor indices = unwritten(c.y_sizes(), index_dtype(c), layout);
    under_test().max_pool2d(y, indices, x, c.p);
    std::vector<double> values, cells;
    find_maxima(c, read(x), values, cells);

    const Tensor gy = noise(c.y_sizes(), dtype, 2, layout), gx = unwritten(c.x_sizes(), dtype, layout);
    const Tensor other = noise(c.x_sizes(), dtype, 3, layout), picked = unwritten(c.y_sizes(), dtype, layout);
    const std::vector<double> g = read(gy), from = read(other);
    std::vector<double> expected(from.size()), expected_picks(g.size());
    c.for_each_tap([&](int64_t i, int64_t j, int64_t cell) {
      if (cells[i] != static_cast<double>(cell)) return;
      expected[j] += g[i];
      expected_picks[i] = from[j];
    });
    under_test().max_pool2d_backward(gx, gy, indices, c.p);
    expect_near(gx, expected, c.p.kernel[0] * c.p.kernel[1], what);
    under_test().max_pool2d_gather(picked, other, indices, c.p);
    EXPECT_TRUE(near(picked, expected_picks, kExact)) << what;
  });
}

// Returns the window size as avg_pool2d counts it. Source: PyTorch's avg_pool2d.
double divisor(const PoolCase& c, int64_t i) {
  if (c.p.divisor_override != 0) return static_cast<double>(c.p.divisor_override);
  const int64_t at[] = {i / c.out(1) % c.out(0), i % c.out(1)}, in[] = {c.h, c.w};
  double size = 1;
  for (size_t d = 0; d < 2; ++d) {
    int64_t begin = at[d] * c.p.stride[d] - c.p.padding[d];
    int64_t end = std::min(begin + c.p.kernel[d], in[d] + c.p.padding[d]);
    if (!c.p.count_include_pad) {
      begin = std::max<int64_t>(begin, 0);
      end = std::min(end, in[d]);
    }
    size *= static_cast<double>(end - begin);
  }
  return size;
}

TEST(AvgPool2d, ForwardAndBackward) {
  for_each_pool_case(false, [](const PoolCase& base, DType dtype, MemoryLayout layout, const std::string& what) {
    for (int mode = 0; mode < 3; ++mode) {
      PoolCase c = base;
      c.p.count_include_pad = mode != 1;
      c.p.divisor_override = mode == 2 ? 3 : 0;
      const Tensor x = noise(c.x_sizes(), dtype, 1, layout), gy = noise(c.y_sizes(), dtype, 2, layout);
      const Tensor y = unwritten(c.y_sizes(), dtype, layout), gx = unwritten(c.x_sizes(), dtype, layout);
      const std::vector<double> xs = read(x), g = read(gy);
      std::vector<double> ys(g.size()), gxs(xs.size());
      c.for_each_tap([&](int64_t i, int64_t j, int64_t) {
        ys[i] += xs[j] / divisor(c, i);
        gxs[j] += g[i] / divisor(c, i);
      });
      under_test().avg_pool2d(y, x, c.p);
      under_test().avg_pool2d_backward(gx, gy, c.p);
      expect_near(y, ys, c.p.kernel[0] * c.p.kernel[1], what);
      expect_near(gx, gxs, c.p.kernel[0] * c.p.kernel[1], what + " backward");
    }
  });
}

TEST(AdaptiveAvgPool2d, ForwardAndBackward) {
  constexpr int64_t outputs[][2] = {{1, 1}, {2, 3}, {7, 5}, {9, 11}, {13, 12}};
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : kPoolLayouts) {
      for (const auto& out : outputs) {
        const int64_t n = 2, c = 19, h = 9, w = 11, oh = out[0], ow = out[1];
        const Tensor x = noise({n, c, h, w}, dtype, 1, layout), gy = noise({n, c, oh, ow}, dtype, 2, layout);
        const Tensor y = unwritten({n, c, oh, ow}, dtype, layout), gx = unwritten({n, c, h, w}, dtype, layout);
        const std::vector<double> xs = read(x), g = read(gy);
        std::vector<double> ys(g.size()), gxs(xs.size());
        for (int64_t i = 0; i < gy.numel(); ++i) {
          const int64_t plane = i / (oh * ow), r = i / ow % oh, q = i % ow;
          const int64_t top = r * h / oh, bottom = ((r + 1) * h + oh - 1) / oh;
          const int64_t left = q * w / ow, right = ((q + 1) * w + ow - 1) / ow;
          const double size = static_cast<double>((bottom - top) * (right - left));
          for (int64_t a = top; a < bottom; ++a) {
            for (int64_t b = left; b < right; ++b) {
              ys[i] += xs[(plane * h + a) * w + b] / size;
              gxs[(plane * h + a) * w + b] += g[i] / size;
            }
          }
        }
        const std::string what = std::string(name(dtype)) + " " + name(layout) + " to " + to_string({oh, ow});
        under_test().adaptive_avg_pool2d(y, x);
        under_test().adaptive_avg_pool2d_backward(gx, gy);
        expect_near(y, ys, h * w, what);
        expect_near(gx, gxs, oh * ow, what + " backward");
      }
    }
  }
}

TEST(Pooling, EmptyBatch) {
  for (DType dtype : kFloatingTypes) {
    const Tensor x = empty({0, 3, 4, 4}, dtype), y = empty({0, 3, 2, 2}, dtype);
    const Tensor indices = empty({0, 3, 2, 2}, kByte);
    const Pool2dParams p{.kernel = {2, 2}, .stride = {2, 2}};
    under_test().max_pool2d(y, indices, x, p);
    under_test().max_pool2d_backward(x, y, indices, p);
    under_test().avg_pool2d(y, x, p);
    under_test().avg_pool2d_backward(x, y, p);
    under_test().adaptive_avg_pool2d(y, x);
  }
}

}  // namespace
}  // namespace tandem::testing
