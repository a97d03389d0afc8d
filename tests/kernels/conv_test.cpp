// Convolution of two and three dimensions and its gradients against the definition, in f64.
#include "kernels/kernels_under_test.h"

#include <algorithm>

#include "kernels/cpu/winograd.h"
#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

/// An image of height and width, or a volume with a depth before them if `d` is not 0.
struct ConvCase {
  const char* what;
  int64_t n, c, h, w, o, kh, kw;
  ConvParams p;  ///< for volumes with the depth first
  int64_t d = 0, kd = 0;

  size_t dims() const { return d == 0 ? 2 : 3; }
  Dims with(int64_t a, int64_t b, int64_t depth, int64_t height, int64_t width) const {
    return d == 0 ? Dims{a, b, height, width} : Dims{a, b, depth, height, width};
  }
  Dims x_sizes() const { return with(n, c, d, h, w); }
  Dims w_sizes() const { return with(o, c / p.groups, kd, kh, kw); }
  Dims y_sizes() const {
    Dims y{n, o};
    for (size_t i = 0; i < dims(); ++i) {
      y.push_back((x_sizes()[i + 2] + 2 * p.padding[i] - p.dilation[i] * (w_sizes()[i + 2] - 1) - 1) / p.stride[i] + 1);
    }
    return y;
  }
  int64_t taps() const { return kh * kw * (d == 0 ? 1 : kd); }
  /// The number of results per image and output.
  int64_t plane() const {
    int64_t size = 1;
    for (size_t i = 0; i < dims(); ++i) size *= y_sizes()[i + 2];
    return size;
  }

  /// Calls f(index of y, index of x, index of the weight) for every product.
  template <class F>
  void for_each_product(F&& f) const {
    const Dims xs = x_sizes(), ws = w_sizes(), ys = y_sizes();
    const int64_t cg = c / p.groups, og = o / p.groups, results = plane(), cells = taps();
    for (int64_t i = 0; i < n * o * results; ++i) {
      const int64_t image = i / (o * results), k = i / results % o;
      for (int64_t j = 0; j < cg * cells; ++j) {
        const int64_t channel = k / og * cg + j / cells;
        int64_t from = image * c + channel, place = i % results, tap = j % cells, in_plane = 1;
        bool inside = true;
        int64_t offset = 0;
        for (size_t e = dims(); e-- > 0;) {
          const int64_t at = place % ys[e + 2] * p.stride[e] - p.padding[e] + tap % ws[e + 2] * p.dilation[e];
          inside = inside && at >= 0 && at < xs[e + 2];
          offset += at * in_plane;
          in_plane *= xs[e + 2];
          place /= ys[e + 2];
          tap /= ws[e + 2];
        }
        if (inside) f(i, from * in_plane + offset, k * cg * cells + j);
      }
    }
  }
};

const ConvCase kConvCases[] = {
    {"one channel", 2, 1, 9, 8, 5, 3, 3, {.padding = {1, 1}}},
    {"3x3", 2, 16, 7, 7, 32, 3, 3, {.padding = {1, 1}}},
    {"whole blocks of channels", 1, 64, 3, 3, 96, 3, 3, {.padding = {1, 1}}},
    {"whole blocks in groups", 1, 128, 2, 2, 128, 3, 3, {.padding = {1, 1}, .groups = 2}},
    {"odd channels", 3, 13, 6, 5, 17, 3, 3, {}},
    {"1x1", 2, 8, 5, 5, 12, 1, 1, {}},
    {"stride", 2, 3, 11, 12, 8, 3, 5, {.stride = {2, 3}, .padding = {1, 2}}},
    {"uncovered border", 1, 4, 8, 9, 4, 3, 3, {.stride = {3, 3}}},
    {"dilation", 1, 6, 11, 10, 7, 3, 2, {.padding = {2, 1}, .dilation = {2, 3}}},
    {"much padding", 1, 2, 3, 3, 3, 2, 2, {.padding = {3, 4}}},
    {"groups", 2, 12, 6, 6, 8, 3, 3, {.padding = {1, 1}, .groups = 4}},
    {"depthwise", 2, 16, 7, 7, 16, 3, 3, {.stride = {2, 2}, .padding = {1, 1}, .groups = 16}},
    {"depth multiplier", 1, 3, 5, 5, 6, 3, 3, {.groups = 3}},
    {"all at once", 2, 6, 9, 8, 4, 2, 3, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2}},
    {"as large as the image", 2, 5, 4, 3, 6, 4, 3, {}},
    {"one pixel", 2, 5, 1, 1, 6, 1, 1, {}},
    {"height 1", 2, 3, 1, 9, 4, 1, 3, {.stride = {1, 2}, .padding = {0, 1}, .dilation = {1, 2}}},
    {"volume", 2, 8, 5, 4, 16, 3, 3, {.padding = {1, 1, 1}}, 4, 3},
    {"volume 1x1x1", 1, 8, 3, 3, 5, 1, 1, {}, 2, 1},
    {"volume of odd channels", 1, 3, 5, 6, 5, 2, 3, {.stride = {1, 2, 3}, .padding = {1, 0, 2}}, 3, 2},
    {"volume, all",
     2,
     4,
     5,
     4,
     6,
     3,
     2,
     {.stride = {2, 1, 1}, .padding = {1, 2, 0}, .dilation = {1, 2, 1}, .groups = 2},
     4,
     3},
    {"depthwise volume", 1, 4, 3, 4, 4, 2, 2, {.groups = 4}, 3, 2},
};

using Pays = bool(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p);

/// The number of products in a sum of `products` of a convolution of x to y. By Winograd's method
/// (kernels/cpu/winograd.h), if it pays, each result is a sum over a tile, of at most four times as many; gradients by
/// the transposed formula are held to the same bound.
int64_t summed(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p, int64_t products,
               Pays pays = cpu::winograd::pays) {
  return y.device().is_cpu() && pays(y, x, weight, p) ? 4 * products : products;
}

constexpr MemoryLayout kLayouts[] = {MemoryLayout::contiguous, MemoryLayout::channels_last};

template <class F>
void for_each_conv_case(F&& f) {
  for (const ConvCase& c : kConvCases) {
    for (DType dtype : kFloatingTypes) {
      for (MemoryLayout layout : kLayouts) {
        f(c, dtype, layout, std::string(c.what) + " " + std::string(name(dtype)) + " " + name(layout));
      }
    }
  }
}

void check_forward(const ConvCase& c, DType dtype, DType bias_dtype, MemoryLayout layout_x, MemoryLayout layout_w,
                   MemoryLayout layout_y, Activation activation, const std::string& what) {
  const Tensor x = noise(c.x_sizes(), dtype, 1, layout_x), w = noise(c.w_sizes(), dtype, 2, layout_w);
  const Tensor bias = noise({c.o}, bias_dtype, 3), y = unwritten(c.y_sizes(), dtype, layout_y);
  std::vector<double> expected(static_cast<size_t>(y.numel()));
  const std::vector<double> xs = read(x), ws = read(w), bs = read(bias);
  const int64_t plane = c.plane();
  for (int64_t i = 0; i < y.numel(); ++i) expected[i] = bs[i / plane % c.o];
  c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[i] += xs[j] * ws[k]; });
  for (double& v : expected) {
    if (activation == Activation::relu) v = std::max(v, 0.0);
  }
  under_test().conv(y, x, w, bias, c.p, activation);
  expect_near(y, expected, summed(y, x, w, c.p, c.c * c.taps()), what);
}

TEST(Conv, Forward) {
  for_each_conv_case([](const ConvCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    for (MemoryLayout layout_y : kLayouts) {
      check_forward(c, dtype, dtype, layout, MemoryLayout::contiguous, layout_y, Activation::none, what);
    }
    check_forward(c, dtype, wide(dtype), layout, layout, layout, Activation::relu, what + " relu");
  });
}

// If relu turned a NaN into 0, the loss scaler would miss the overflow.
TEST(Conv, ReluKeepsNaN) {
  ConvCase few = kConvCases[1];
  few.c = 8;  // too few channels for Winograd's method, which makes whole tiles NaN
  for (const ConvCase& c : {few, kConvCases[1]}) {
    for (DType dtype : kFloatingTypes) {
      for (MemoryLayout layout : kLayouts) {
        const Tensor x = noise(c.x_sizes(), dtype, 1, layout), w = noise(c.w_sizes(), dtype, 2);
        const Tensor bias = noise({c.o}, dtype, 3), y = unwritten(c.y_sizes(), dtype, layout);
        under_test().fill(make_view(x, {1}, {1}, x.storage_offset()), std::nan(""));
        under_test().conv(y, x, w, bias, c.p, Activation::relu);
        const std::vector<double> values = read(y);
        for (int64_t i = 0; i < y.numel(); ++i) {
          const int64_t row = i / c.w % c.h, column = i % c.w;
          const bool reached = i < c.o * c.h * c.w && row < 2 && column < 2;  // in the first image, by 3x3 kernels
          const bool direct = y.device().is_cuda() || !cpu::winograd::pays(y, x, w, c.p);
          if (direct || reached || i >= c.o * c.h * c.w) {
            EXPECT_EQ(std::isnan(values[i]), reached) << i << " " << name(dtype) << " " << name(layout);
          }
          EXPECT_TRUE(std::isnan(values[i]) || values[i] >= 0) << i;
        }
      }
    }
  }
}

TEST(Conv, OperandsMayHaveAnyStrides) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::transposed}) {
      check_forward(kConvCases[2], dtype, dtype, layout, layout, layout, Activation::none, name(layout));
    }
  }
}

TEST(Conv, WithoutBias) {
  const ConvCase& c = kConvCases[2];
  for (DType dtype : kFloatingTypes) {
    const Tensor x = noise(c.x_sizes(), dtype, 1), w = noise(c.w_sizes(), dtype, 2), y = unwritten(c.y_sizes(), dtype);
    const std::vector<double> xs = read(x), ws = read(w);
    std::vector<double> expected(static_cast<size_t>(y.numel()));
    c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[i] += xs[j] * ws[k]; });
    under_test().conv(y, x, w, {}, c.p, Activation::none);
    expect_near(y, expected, summed(y, x, w, c.p, c.c * c.taps()), "no bias");
  }
}

void check_backward_input(const ConvCase& c, const Tensor& gy, DType dtype, MemoryLayout layout_x,
                          const std::string& what) {
  const Tensor w = noise(c.w_sizes(), dtype, 2), gx = unwritten(c.x_sizes(), dtype, layout_x);
  const std::vector<double> gs = read(gy), ws = read(w);
  std::vector<double> expected(static_cast<size_t>(gx.numel()));
  c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[j] += gs[i] * ws[k]; });
  under_test().conv_backward_input(gx, gy, w, c.p);
  expect_near(gx, expected, summed(gx, gy, w, c.p, c.o * c.taps(), cpu::winograd::backward_input_pays), what);
}

TEST(Conv, BackwardInput) {
  for_each_conv_case([](const ConvCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor gy = noise(c.y_sizes(), dtype, 1, layout);
    for (MemoryLayout layout_x : kLayouts) check_backward_input(c, gy, dtype, layout_x, what);
  });
}

// Enough images for the transposed formula of Winograd's method.
TEST(Conv, BackwardInputOfManyImages) {
  const ConvCase c = {"many images", 16, 32, 6, 6, 32, 5, 5, {}};
  const Tensor gy = noise(c.y_sizes(), kFloat, 1), x = empty(c.x_sizes()), w = empty(c.w_sizes());
  EXPECT_TRUE(cpu::winograd::backward_input_pays(x, gy, w, c.p));
  EXPECT_FALSE(cpu::winograd::pays(x, gy, w, c.p));
  check_backward_input(c, gy, kFloat, MemoryLayout::contiguous, c.what);
}

void check_backward_weight(const ConvCase& c, DType dtype, DType out, MemoryLayout layout, bool weight, bool bias,
                           const std::string& what) {
  const Tensor gy = noise(c.y_sizes(), dtype, 1, layout), x = noise(c.x_sizes(), dtype, 2, layout);
  const Tensor gweight = weight ? unwritten(c.w_sizes(), out) : Tensor(),
               gbias = bias ? unwritten({c.o}, out) : Tensor();
  const std::vector<double> gs = read(gy), xs = read(x);
  std::vector<double> expected(static_cast<size_t>(c.o * c.c / c.p.groups * c.taps())), sums(c.o);
  c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[k] += gs[i] * xs[j]; });
  const int64_t plane = c.plane();
  for (int64_t i = 0; i < gy.numel(); ++i) sums[i / plane % c.o] += gs[i];
  under_test().conv_backward_weight(gweight, gbias, gy, x, c.p);
  if (weight) expect_near(gweight, expected, summed(gy, x, gweight, c.p, c.n * plane), what + ": weight");
  if (bias) expect_near(gbias, sums, c.n * plane, what + ": bias");
}

TEST(Conv, BackwardWeight) {
  for_each_conv_case([](const ConvCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    check_backward_weight(c, dtype, dtype, layout, true, true, what);
    check_backward_weight(c, dtype, wide(dtype), layout, true, true, what + " wide");
    check_backward_weight(c, dtype, wide(dtype), layout, true, false, what + " no bias");
    check_backward_weight(c, dtype, wide(dtype), layout, false, true, what + " no weight");
  });
}

TEST(Conv, ExpandedGradient) {
  const ConvCase& c = kConvCases[1];
  for (DType dtype : kFloatingTypes) {
    const Tensor gy = make_view(noise({1, 1, 1, 1}, dtype, 1), c.y_sizes(), {0, 0, 0, 0}, 0);
    check_backward_input(c, gy, dtype, MemoryLayout::contiguous, "expanded");
  }
}

TEST(Conv, EmptyBatch) {
  ConvCase c = kConvCases[1];
  c.n = 0;
  for (DType dtype : kFloatingTypes) {
    check_forward(c, dtype, dtype, MemoryLayout::contiguous, MemoryLayout::contiguous, MemoryLayout::contiguous,
                  Activation::relu, "");
    under_test().conv_backward_input(empty(c.x_sizes(), dtype), empty(c.y_sizes(), dtype), noise(c.w_sizes(), dtype, 1),
                                     c.p);
    check_backward_weight(c, dtype, dtype, MemoryLayout::contiguous, true, true, "empty batch");
  }
}

}  // namespace
}  // namespace tandem::testing
