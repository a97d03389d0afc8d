// embedding_bag, gathered_dots, grid_sample and fractional_argmax against plain loops in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using kernels::Bag;
using Values = std::vector<double>;

size_t at(int64_t i) { return static_cast<size_t>(i); }

void check_bags(DType dtype, MemoryLayout layout, Bag bag, bool scaled) {
  constexpr int64_t rows = 6, width = 37;
  const Values indices = {0, 5, 2, 2, 1, 2, 5, 3}, offsets = {0, 3, 3, 4};
  const Tensor weight = unwritten({rows, width}, dtype, layout), y = empty({4, width}, dtype);
  write(weight, random_values(weight.numel(), 1, -2, 2));
  const Tensor scale = scaled ? tensor_of(random_values(8, 2, -1, 1), dtype) : Tensor();
  const Tensor winner = bag == Bag::max ? empty(y.sizes(), kLong) : Tensor();
  under_test().embedding_bag(y, winner, weight, tensor_of(indices, kLong), tensor_of(offsets, kLong), scale, bag, 5);
  const Values w = read(weight), factors = scaled ? read(scale) : Values(8, 1);
  Values want, from;
  for (int64_t b = 0; b < 4; ++b) {
    const int64_t end = b < 3 ? static_cast<int64_t>(offsets[at(b + 1)]) : 8;
    for (int64_t d = 0; d < width; ++d) {
      double sum = 0, place = -1;
      int64_t count = 0;
      for (int64_t j = static_cast<int64_t>(offsets[at(b)]); j < end; ++j) {
        const double row = indices[at(j)];
        if (row == 5) continue;
        const double v = w[at(static_cast<int64_t>(row) * width + d)] * factors[at(j)];
        if (bag != Bag::max) {
          sum += v;
        } else if (count == 0 || v > sum) {
          sum = v, place = row;
        }
        ++count;
      }
      want.push_back(bag == Bag::mean && count > 0 ? sum / static_cast<double>(count) : sum);
      from.push_back(place);
    }
  }
  EXPECT_TRUE(near(y, want, tolerance(dtype, 8, 1, 4)));
  if (bag == Bag::max) {
    EXPECT_EQ(read(winner), from);
  }
}

TEST(EmbeddingBagKernels, Bags) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      for (Bag bag : {Bag::sum, Bag::mean, Bag::max}) check_bags(dtype, layout, bag, false);
      check_bags(dtype, layout, Bag::sum, true);
    }
  }
}

TEST(GatheredDotsKernels, Dtypes) {
  const Values i = {0, 2, 1, 2, 0}, k = {3, 3, 0, 1, 2};
  for (DType dtype : kFloatingTypes) {
    for (int64_t width : {1, 33, 300}) {
      const Tensor a = empty({3, width}, dtype), b = unwritten({4, width}, dtype, MemoryLayout::transposed);
      write(a, random_values(a.numel(), 3, -1, 1));
      write(b, random_values(b.numel(), 4, -1, 1));
      const Tensor y = empty({5}, dtype);
      under_test().gathered_dots(y, a, tensor_of(i, kLong), b, tensor_of(k, kLong));
      const Values u = read(a), v = read(b);
      Values want(5, 0);
      for (int64_t j = 0; j < 5; ++j) {
        for (int64_t d = 0; d < width; ++d) {
          want[at(j)] +=
              u[at(static_cast<int64_t>(i[at(j)]) * width + d)] * v[at(static_cast<int64_t>(k[at(j)]) * width + d)];
        }
      }
      EXPECT_TRUE(near(y, want, tolerance(dtype, width, 1, scale_of(want))));
    }
  }
}

/// Bilinear sampling with zeros outside, and its gradients, of [N, C, H, W] at [N, OH, OW, 2].
void check_grid(DType dtype, MemoryLayout layout) {
  constexpr int64_t n = 2, c = 19, h = 3, w = 4, oh = 2, ow = 5;
  const DType held = wide(dtype);
  const Tensor x = unwritten({n, c, h, w}, dtype, layout), grid = empty({n, oh, ow, 2}, dtype);
  const Tensor y = empty({n, c, oh, ow}, dtype), gy = unwritten({n, c, oh, ow}, dtype, layout);
  const Tensor gx = empty({n, c, h, w}, held), ggrid = empty(grid.sizes(), held);
  write(x, random_values(x.numel(), 5, -1, 1));
  write(gy, random_values(gy.numel(), 6, -1, 1));
  write(grid, random_values(grid.numel(), 7, -1.25, 1.25));
  write(gx, Values(at(gx.numel()), 0));
  const GridSampling how;
  under_test().grid_sample(y, x, grid, how);
  under_test().grid_sample_backward(gx, ggrid, gy, x, grid, how);
  const Values v = read(x), g = read(grid), weights = read(gy);
  Values want(at(y.numel()), 0), want_x(v.size(), 0), want_grid(g.size(), 0);
  for (int64_t b = 0; b < n; ++b) {
    for (int64_t p = 0; p < oh * ow; ++p) {
      const int64_t place = b * oh * ow + p;
      const double px = ((g[at(2 * place)] + 1) * w - 1) / 2, py = ((g[at(2 * place + 1)] + 1) * h - 1) / 2;
      for (int64_t i = 0; i < h; ++i) {
        for (int64_t j = 0; j < w; ++j) {
          const double dx = static_cast<double>(j) - px, dy = static_cast<double>(i) - py;
          if (std::abs(dx) >= 1 || std::abs(dy) >= 1) continue;
          const double fx = 1 - std::abs(dx), fy = 1 - std::abs(dy);
          for (int64_t k = 0; k < c; ++k) {
            const int64_t from = ((b * c + k) * h + i) * w + j, to = (b * c + k) * oh * ow + p;
            want[at(to)] += fx * fy * v[at(from)];
            want_x[at(from)] += fx * fy * weights[at(to)];
            want_grid[at(2 * place)] += weights[at(to)] * v[at(from)] * (dx > 0 ? 1 : -1) * fy * w / 2;
            want_grid[at(2 * place + 1)] += weights[at(to)] * v[at(from)] * (dy > 0 ? 1 : -1) * fx * h / 2;
          }
        }
      }
    }
  }
  EXPECT_TRUE(near(y, want, tolerance(dtype, 4, 2, 1)));
  EXPECT_TRUE(near(gx, want_x, tolerance(held, 64, 4, scale_of(want_x))));
  EXPECT_TRUE(near(ggrid, want_grid, tolerance(held, 256, 4, scale_of(want_grid))));
}

TEST(GridSampleKernels, Linear) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::channels_last, MemoryLayout::spread})
      check_grid(dtype, layout);
  }
}

TEST(FractionalArgmaxKernels, Windows) {
  constexpr int64_t channels = 3;
  const std::array<int64_t, 3> in{4, 6, 5}, out{2, 3, 4}, kernel{2, 3, 2};
  for (DType dtype : kFloatingTypes) {
    const Tensor x = empty({1, channels, in[0], in[1], in[2]}, dtype);
    const Tensor samples =
        make_view(tensor_of(random_values(3 * channels, 8, 0, 1), dtype), {1, channels, 3}, {3 * channels, 3, 1}, 0);
    Values v = random_values(x.numel(), 9, -3, 3);
    for (double& value : v) value = std::round(value);
    write(x, v);
    const Values s = read(samples);
    const auto begin = [&](int64_t channel, size_t d, int64_t o) {
      if (o == out[d] - 1) return in[d] - kernel[d];
      const double step = static_cast<double>(in[d] - kernel[d]) / static_cast<double>(out[d] - 1);
      const double sample = s[at(channel * 3) + d];
      return static_cast<int64_t>((static_cast<double>(o) + sample) * step) - static_cast<int64_t>(sample * step);
    };
    Values want;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t o = 0; o < out[0] * out[1] * out[2]; ++o) {
        const int64_t z = begin(c, 0, o / out[2] / out[1]), y = begin(c, 1, o / out[2] % out[1]);
        const int64_t column = begin(c, 2, o % out[2]);
        int64_t best = -1;
        for (int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; ++k) {
          const int64_t row = (z + k / kernel[2] / kernel[1]) * in[1] + y + k / kernel[2] % kernel[1];
          const int64_t i = row * in[2] + column + k % kernel[2], plane = c * in[0] * in[1] * in[2];
          if (best < 0 || v[at(plane + i)] > v[at(plane + best)]) best = i;
        }
        want.push_back(static_cast<double>(best));
      }
    }
    const Tensor index = empty({1, channels, out[0], out[1], out[2]}, kLong);
    under_test().fractional_argmax(index, x, samples, kernel);
    EXPECT_EQ(read(index), want);
  }
}

}  // namespace
}  // namespace tandem
