// conv2d and its gradients against the definition, in f64.
#include "kernels/conv_columns.h"
#include "kernels/kernels_under_test.h"

#include <algorithm>

#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

struct Case {
  const char* what;
  int64_t n, c, h, w, o, kh, kw;
  Conv2dParams p;

  Dims x_sizes() const { return {n, c, h, w}; }
  Dims w_sizes() const { return {o, c / p.groups, kh, kw}; }
  int64_t out(size_t d) const {
    const int64_t in = d == 0 ? h : w, k = d == 0 ? kh : kw;
    return (in + 2 * p.padding[d] - p.dilation[d] * (k - 1) - 1) / p.stride[d] + 1;
  }
  Dims y_sizes() const { return {n, o, out(0), out(1)}; }

  /// Calls f(index of y, index of x, index of the weight) for every product.
  template <class F>
  void for_each_product(F&& f) const {
    const int64_t cg = c / p.groups, og = o / p.groups, oh = out(0), ow = out(1);
    for (int64_t i = 0; i < n * o * oh * ow; ++i) {
      const int64_t image = i / (o * oh * ow), k = i / (oh * ow) % o, r = i / ow % oh, q = i % ow;
      for (int64_t j = 0; j < cg * kh * kw; ++j) {
        const int64_t channel = k / og * cg + j / (kh * kw);
        const int64_t row = r * p.stride[0] - p.padding[0] + j / kw % kh * p.dilation[0];
        const int64_t column = q * p.stride[1] - p.padding[1] + j % kw * p.dilation[1];
        if (row < 0 || row >= h || column < 0 || column >= w) continue;
        f(i, ((image * c + channel) * h + row) * w + column, k * cg * kh * kw + j);
      }
    }
  }
};

const Case kCases[] = {
    {"one channel", 2, 1, 9, 8, 5, 3, 3, {.padding = {1, 1}}},
    {"3x3", 2, 16, 7, 7, 32, 3, 3, {.padding = {1, 1}}},
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
};

constexpr Layout kLayouts[] = {Layout::contiguous, Layout::channels_last};

template <class F>
void for_each_case(F&& f) {
  for (const Case& c : kCases) {
    for (DType dtype : kFloatingTypes) {
      for (Layout layout : kLayouts) {
        f(c, dtype, layout, std::string(c.what) + " " + std::string(name(dtype)) + " " + name(layout));
      }
    }
  }
}

void check_forward(const Case& c, DType dtype, DType bias_dtype, Layout layout_x, Layout layout_w, Layout layout_y,
                   Activation activation, const std::string& what) {
  const Tensor x = noise(c.x_sizes(), dtype, 1, layout_x), w = noise(c.w_sizes(), dtype, 2, layout_w);
  const Tensor bias = noise({c.o}, bias_dtype, 3), y = unwritten(c.y_sizes(), dtype, layout_y);
  std::vector<double> expected(static_cast<size_t>(y.numel()));
  const std::vector<double> xs = read(x), ws = read(w), bs = read(bias);
  const int64_t plane = c.out(0) * c.out(1);
  for (int64_t i = 0; i < y.numel(); ++i) expected[i] = bs[i / plane % c.o];
  c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[i] += xs[j] * ws[k]; });
  for (double& v : expected) {
    if (activation == Activation::relu) v = std::max(v, 0.0);
  }
  under_test().conv2d(y, x, w, bias, c.p, activation);
  expect_near(y, expected, c.c * c.kh * c.kw, what);
}

TEST(Conv2d, Forward) {
  for_each_case([](const Case& c, DType dtype, Layout layout, const std::string& what) {
    for (Layout layout_y : kLayouts) {
      check_forward(c, dtype, dtype, layout, Layout::contiguous, layout_y, Activation::none, what);
    }
    check_forward(c, dtype, wide(dtype), layout, layout, layout, Activation::relu, what + " relu");
  });
}

// If relu turned a NaN into 0, the loss scaler would miss the overflow.
TEST(Conv2d, ReluKeepsNaN) {
  const Case& c = kCases[1];
  for (DType dtype : kFloatingTypes) {
    for (Layout layout : kLayouts) {
      const Tensor x = noise(c.x_sizes(), dtype, 1, layout), w = noise(c.w_sizes(), dtype, 2);
      const Tensor bias = noise({c.o}, dtype, 3), y = unwritten(c.y_sizes(), dtype, layout);
      under_test().fill(make_view(x, {1}, {1}, x.storage_offset()), std::nan(""));
      under_test().conv2d(y, x, w, bias, c.p, Activation::relu);
      const std::vector<double> values = read(y);
      for (int64_t i = 0; i < y.numel(); ++i) {
        const int64_t row = i / c.w % c.h, column = i % c.w;
        const bool reached = i < c.o * c.h * c.w && row < 2 && column < 2;  // in the first image, by 3x3 kernels
        EXPECT_EQ(std::isnan(values[i]), reached) << i << " " << name(dtype) << " " << name(layout);
        EXPECT_TRUE(reached || values[i] >= 0) << i;
      }
    }
  }
}

TEST(Conv2d, OperandsMayHaveAnyStrides) {
  for (DType dtype : kFloatingTypes) {
    for (Layout layout : {Layout::sliced, Layout::spread, Layout::transposed}) {
      check_forward(kCases[2], dtype, dtype, layout, layout, layout, Activation::none, name(layout));
    }
  }
}

TEST(Conv2d, WithoutBias) {
  const Case& c = kCases[2];
  for (DType dtype : kFloatingTypes) {
    const Tensor x = noise(c.x_sizes(), dtype, 1), w = noise(c.w_sizes(), dtype, 2), y = unwritten(c.y_sizes(), dtype);
    const std::vector<double> xs = read(x), ws = read(w);
    std::vector<double> expected(static_cast<size_t>(y.numel()));
    c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[i] += xs[j] * ws[k]; });
    under_test().conv2d(y, x, w, {}, c.p, Activation::none);
    expect_near(y, expected, c.c * c.kh * c.kw, "no bias");
  }
}

TEST(Conv2d, BackwardInput) {
  for_each_case([](const Case& c, DType dtype, Layout layout, const std::string& what) {
    const Tensor gy = noise(c.y_sizes(), dtype, 1, layout), w = noise(c.w_sizes(), dtype, 2);
    const std::vector<double> gs = read(gy), ws = read(w);
    for (Layout layout_x : kLayouts) {
      const Tensor gx = unwritten(c.x_sizes(), dtype, layout_x);
      std::vector<double> expected(static_cast<size_t>(gx.numel()));
      c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[j] += gs[i] * ws[k]; });
      under_test().conv2d_backward_input(gx, gy, w, c.p);
      expect_near(gx, expected, c.o * c.kh * c.kw, what);
    }
  });
}

void check_backward_weight(const Case& c, DType dtype, DType out, Layout layout, bool weight, bool bias,
                           const std::string& what) {
  const Tensor gy = noise(c.y_sizes(), dtype, 1, layout), x = noise(c.x_sizes(), dtype, 2, layout);
  const Tensor gweight = weight ? unwritten(c.w_sizes(), out) : Tensor(),
               gbias = bias ? unwritten({c.o}, out) : Tensor();
  const std::vector<double> gs = read(gy), xs = read(x);
  std::vector<double> expected(static_cast<size_t>(c.o * c.c / c.p.groups * c.kh * c.kw)), sums(c.o);
  c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[k] += gs[i] * xs[j]; });
  const int64_t plane = c.out(0) * c.out(1);
  for (int64_t i = 0; i < gy.numel(); ++i) sums[i / plane % c.o] += gs[i];
  under_test().conv2d_backward_weight(gweight, gbias, gy, x, c.p);
  if (weight) expect_near(gweight, expected, c.n * plane, what + ": weight");
  if (bias) expect_near(gbias, sums, c.n * plane, what + ": bias");
}

TEST(Conv2d, BackwardWeight) {
  for_each_case([](const Case& c, DType dtype, Layout layout, const std::string& what) {
    check_backward_weight(c, dtype, dtype, layout, true, true, what);
    check_backward_weight(c, dtype, wide(dtype), layout, true, true, what + " wide");
    check_backward_weight(c, dtype, wide(dtype), layout, true, false, what + " no bias");
    check_backward_weight(c, dtype, wide(dtype), layout, false, true, what + " no weight");
  });
}

// The path for devices whose library cannot write f32 gradients of 16-bit operands.
TEST(Conv2d, BackwardWeightByColumns) {
  for_each_case([](const Case& c, DType dtype, Layout layout, const std::string& what) {
    if (c.p.groups != 1 || dtype == kDouble) return;
    const Tensor gy = noise(c.y_sizes(), dtype, 1, layout), x = noise(c.x_sizes(), dtype, 2, layout);
    const std::vector<double> gs = read(gy), xs = read(x);
    std::vector<double> expected(static_cast<size_t>(c.o * c.c * c.kh * c.kw));
    c.for_each_product([&](int64_t i, int64_t j, int64_t k) { expected[k] += gs[i] * xs[j]; });
    const int64_t pixels = c.out(0) * c.out(1), image_bytes = pixels * kernels::column_stride(c.c * c.kh * c.kw) * 4;
    for (Layout layout_w : kLayouts) {
      for (int64_t most_bytes : {int64_t{0}, 2 * image_bytes, 100 * image_bytes}) {
        const Tensor gweight = unwritten(c.w_sizes(), kFloat, layout_w);
        kernels::conv2d_backward_weight_by_columns(gweight, gy, x, c.p, most_bytes);
        expect_near(gweight, expected, c.n * pixels, what + " in slices of " + std::to_string(most_bytes));
      }
    }
  });
}

// 2 x 512 x 512 exceeds the largest f16, so an intermediate rounding to f16 would make it inf.
TEST(Conv2d, BackwardWeightByColumnsKeepsF32Range) {
  const Tensor gy = unwritten({2, 1, 1, 1}, kHalf), x = unwritten({2, 1, 1, 1}, kHalf),
               g = unwritten({1, 1, 1, 1}, kFloat);
  under_test().fill(gy, 512);
  under_test().fill(x, 512);
  kernels::conv2d_backward_weight_by_columns(g, gy, x, {}, 1 << 20);
  EXPECT_EQ(read(g)[0], 2.0 * 512 * 512);
}

TEST(Conv2d, ExpandedGradient) {
  const Case& c = kCases[1];
  for (DType dtype : kFloatingTypes) {
    const Tensor one = noise({1, 1, 1, 1}, dtype, 1), gy = make_view(one, c.y_sizes(), {0, 0, 0, 0}, 0);
    const Tensor w = noise(c.w_sizes(), dtype, 2), gx = unwritten(c.x_sizes(), dtype);
    std::vector<double> expected(static_cast<size_t>(gx.numel()));
    const std::vector<double> ws = read(w);
    const double g = read(one)[0];
    c.for_each_product([&](int64_t, int64_t j, int64_t k) { expected[j] += g * ws[k]; });
    under_test().conv2d_backward_input(gx, gy, w, c.p);
    expect_near(gx, expected, c.o * c.kh * c.kw, "expanded");
  }
}

TEST(Conv2d, EmptyBatch) {
  Case c = kCases[1];
  c.n = 0;
  for (DType dtype : kFloatingTypes) {
    check_forward(c, dtype, dtype, Layout::contiguous, Layout::contiguous, Layout::contiguous, Activation::relu, "");
    under_test().conv2d_backward_input(empty(c.x_sizes(), dtype), empty(c.y_sizes(), dtype),
                                       noise(c.w_sizes(), dtype, 1), c.p);
    check_backward_weight(c, dtype, dtype, Layout::contiguous, true, true, "empty batch");
  }
}

}  // namespace
}  // namespace tandem::testing
