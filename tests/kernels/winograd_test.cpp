// Convolutions by Winograd's method against direct ones in f64.
#include "kernels/cpu/winograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/winograd/cost.h"
#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"
#include "support/simd_levels.h"
#include "tandem/tensor/threads.h"

namespace tandem::testing {
namespace {

namespace winograd = cpu::winograd;

class Winograd : public SimdLevels {
 protected:
  void SetUp() override {
    SKIP_ON_CUDA("a method of the CPU");
    SimdLevels::SetUp();
  }
};
TANDEM_AT_EVERY_SIMD_LEVEL(Winograd);

struct Shape {
  const char* what;
  int64_t images, inputs, outputs, height, width, padding_h, padding_w, kernel = 3;
};

const Shape kWinogradShapes[] = {
    {"whole tiles and panels", 2, 32, 16, 8, 12, 1, 1},
    {"parts of tiles and panels", 3, 21, 37, 7, 10, 1, 1},
    {"one tile", 1, 16, 16, 3, 3, 0, 0},
    {"one row of results", 2, 17, 3, 3, 9, 0, 1},
    {"more padding than the kernel", 1, 16, 20, 2, 3, 3, 4},
    {"unequal padding", 2, 16, 16, 6, 5, 2, 0},
    {"more outputs than tiles", 2, 96, 130, 6, 6, 1, 1},
    {"many tiles", 3, 16, 16, 70, 34, 1, 1},
    {"many tiles of some channels", 2, 64, 64, 40, 36, 1, 1},
    {"many tiles and channels", 1, 80, 72, 24, 40, 1, 1},
    {"5x5", 2, 18, 40, 9, 8, 2, 2, 5},
    {"5x5 without padding", 1, 16, 16, 5, 12, 0, 0, 5},
    {"5x5, many tiles and channels", 1, 80, 72, 20, 24, 1, 3, 5},
};
/// gy has fewer tiles than gx, so the transposed formula gives the gradient of the inputs. Its outputs are the layer's
/// inputs.
const Shape kTransposedShapes[] = {
    {"parts of tiles and panels, transposed", 17, 17, 20, 8, 9, 0, 0, 5},
    {"3x3, transposed", 16, 18, 33, 10, 9, 0, 0},
    {"padding of the rows, transposed", 16, 17, 20, 9, 9, 1, 0, 5},
    {"many tiles, transposed", 16, 16, 16, 20, 20, 0, 0, 5},
    {"many tiles per image, transposed", 16, 16, 16, 24, 24, 0, 0, 5},
    {"many tiles and outputs, transposed", 16, 80, 16, 10, 10, 0, 0, 5},
    {"more outputs than tiles, transposed", 16, 130, 18, 6, 6, 0, 0},
};

std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes(std::begin(kWinogradShapes), std::end(kWinogradShapes));
  shapes.insert(shapes.end(), std::begin(kTransposedShapes), std::end(kTransposedShapes));
  return shapes;
}

/// Operands and results of one shape.
struct WinogradCall {
  Tensor x, weight, bias, gy, y, gx, gweight;
  ConvParams p;
  int64_t products;  ///< the largest number in a sum

  WinogradCall(const Shape& s, DType dtype, DType out, MemoryLayout layout) {
    const Dims results{s.images, s.outputs, s.height + 2 * s.padding_h - s.kernel + 1,
                       s.width + 2 * s.padding_w - s.kernel + 1};
    p.padding = {s.padding_h, s.padding_w, 0};
    x = noise({s.images, s.inputs, s.height, s.width}, dtype, 1, layout);
    weight = noise({s.outputs, s.inputs, s.kernel, s.kernel}, dtype, 2, layout);
    bias = noise({s.outputs}, dtype, 3);
    gy = noise(results, dtype, 4, layout);
    y = unwritten(results, dtype, layout);
    gx = unwritten(x.sizes(), dtype, layout);
    gweight = unwritten(weight.sizes(), out, layout);
    // Each result is the sum of the products of a tile, of which there are 36 per pair of channels. By the transposed
    // formula it is a sum over a few tiles, held to the same bound.
    const int64_t tile = (7 - s.kernel) * (7 - s.kernel);
    products = std::max({36 * s.inputs, 36 * s.outputs, 36 * gy.numel() / s.outputs / tile + 36});
  }

  void run() const {
    winograd::conv(y, x, weight, bias, p);
    winograd::conv_backward_input(gx, gy, weight, p);
    winograd::conv_backward_weight(gweight, gy, x, p);
  }
};

Tensor in_f64(const Tensor& t) {
  const Tensor wide = unwritten(t.sizes(), kDouble);
  write(wide, read(t));
  return wide;
}

void check(const Shape& s, DType dtype, DType out, MemoryLayout layout) {
  const WinogradCall call(s, dtype, out, layout);
  call.run();
  const Tensor x = in_f64(call.x), weight = in_f64(call.weight), gy = in_f64(call.gy), bias = in_f64(call.bias);
  const Tensor y = unwritten(call.y.sizes(), kDouble), gx = unwritten(x.sizes(), kDouble);
  const Tensor gweight = unwritten(weight.sizes(), kDouble);
  under_test().conv(y, x, weight, bias, call.p, Activation::none);
  under_test().conv_backward_input(gx, gy, weight, call.p);
  under_test().conv_backward_weight(gweight, {}, gy, x, call.p);
  const std::string what = std::string(s.what) + " " + std::string(name(dtype)) + " " + name(layout);
  expect_near(call.y, read(y), call.products, what + ": y");
  expect_near(call.gx, read(gx), call.products, what + ": gx");
  expect_near(call.gweight, read(gweight), call.products, what + ": gweight");
}

TEST_P(Winograd, MatchesDirectConvolutions) {
  for (const Shape& s : all_shapes()) check(s, kFloat, kFloat, MemoryLayout::channels_last);
}

TEST_P(Winograd, LayoutsAndTypes) {
  for (const DType dtype : {kFloat, kHalf, kBFloat16}) {
    for (const MemoryLayout layout :
         {MemoryLayout::contiguous, MemoryLayout::channels_last, MemoryLayout::sliced, MemoryLayout::transposed}) {
      for (const Shape& s : {kWinogradShapes[1], kTransposedShapes[0]}) {
        check(s, dtype, dtype, layout);
        check(s, dtype, kFloat, layout);
      }
    }
  }
}

TEST_P(Winograd, DoesNotDependOnTheNumberOfThreads) {
  const int threads = get_num_threads();
  for (const Shape& s : all_shapes()) {
    std::vector<std::vector<double>> first;
    for (const int count : {1, 2, 3}) {
      set_num_threads(count);
      const WinogradCall call(s, kFloat, kFloat, MemoryLayout::channels_last);
      call.run();
      const std::vector<std::vector<double>> results = {read(call.y), read(call.gx), read(call.gweight)};
      if (count == 1) first = results;
      EXPECT_TRUE(results == first) << s.what << ", " << count << " threads";
    }
  }
  set_num_threads(threads);
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The root mean square of the error of `result`, relative to that of `expected`.
double error(const Tensor& result, const Tensor& expected) {
  std::vector<double> errors = read(result);
  const std::vector<double> exact = read(expected);
  for (size_t i = 0; i < errors.size(); ++i) errors[i] -= exact[i];
  return root_mean_square(errors) / root_mean_square(exact);
}

// Sums in f32 of 64 channels, in order, have an error of 4.4e-7; the points 0, 1, -1, 2, -2 would give 1.6e-6.
TEST_P(Winograd, ErrorIsCloseToThatOfDirectSums) {
  for (const Shape& s : {Shape{"", 2, 64, 64, 16, 16, 1, 1}, Shape{"", 2, 64, 64, 16, 16, 2, 2, 5},
                         Shape{"", 16, 16, 64, 6, 6, 0, 0}, Shape{"", 16, 16, 64, 12, 12, 0, 0, 5}}) {
    const WinogradCall call(s, kFloat, kFloat, MemoryLayout::channels_last);
    call.run();
    const Tensor y = unwritten(call.y.sizes(), kDouble), gx = unwritten(call.x.sizes(), kDouble);
    const Tensor weight = in_f64(call.weight);
    under_test().conv(y, in_f64(call.x), weight, in_f64(call.bias), call.p, Activation::none);
    under_test().conv_backward_input(gx, in_f64(call.gy), weight, call.p);
    EXPECT_LT(error(call.y, y), 1e-6) << s.kernel << " " << s.padding_h;
    EXPECT_LT(error(call.gx, gx), 1e-6) << s.kernel << " " << s.padding_h;
  }
}

// The loss scaler looks for infinities and NaN.
TEST_P(Winograd, NonFiniteValuesStay) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const WinogradCall call(kWinogradShapes[0], kFloat, kFloat, MemoryLayout::channels_last);
    const Shape& s = kWinogradShapes[0];
    const int64_t row = 5, column = 6;
    for (const Tensor& t : {call.x, call.gy}) {
      under_test().fill(make_view(t, {1}, {1}, t.storage_offset() + row * t.stride(2) + column * t.stride(3)), bad);
    }
    call.run();
    for (const Tensor& result : {call.y, call.gx}) {
      const std::vector<double> values = read(result);
      for (int64_t i = 0; i < result.numel(); ++i) {
        const int64_t h = i / s.width % s.height, w = i % s.width, image = i / (result.size(1) * s.width * s.height);
        const bool reached = image == 0 && std::abs(h - row) <= 1 && std::abs(w - column) <= 1;
        if (!reached && image == 0) continue;  // perhaps in a tile with the bad value
        EXPECT_EQ(std::isfinite(values[i]), image == 1) << i;
      }
    }
    for (int64_t tap = 0; tap < 9; ++tap) EXPECT_FALSE(std::isfinite(read(call.gweight)[tap])) << tap;
  }
}

TEST_P(Winograd, NonFiniteValuesStayInTheTransposedFormula) {
  for (const Shape& s : {kTransposedShapes[0], kTransposedShapes[1]}) {
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      const WinogradCall call(s, kFloat, kFloat, MemoryLayout::channels_last);
      const Tensor& gy = call.gy;
      const int64_t row = 3, column = 2;
      under_test().fill(make_view(gy, {1}, {1}, gy.storage_offset() + row * gy.stride(2) + column * gy.stride(3)), bad);
      call.run();
      const std::vector<double> values = read(call.gx);
      for (int64_t i = 0; i < call.gx.numel(); ++i) {
        const int64_t h = i / s.width % s.height, w = i % s.width, image = i / (s.inputs * s.width * s.height);
        const bool reached = h >= row && h < row + s.kernel && w >= column && w < column + s.kernel;
        if (image == 0 && !reached) continue;
        EXPECT_EQ(std::isfinite(values[i]), image > 0) << s.what << " " << i;
      }
    }
  }
}

TEST(WinogradChoice, TheTransposedFormulaHasFewerTilesWithoutPadding) {
  const auto is_transposed = [](const Shape& s) {
    const WinogradCall call(s, kFloat, kFloat, MemoryLayout::channels_last);
    return winograd::transposed_is_faster(call.gx, call.gy, call.weight);
  };
  for (const Shape& s : kTransposedShapes) EXPECT_TRUE(is_transposed(s)) << s.what;
  EXPECT_FALSE(is_transposed({"padded", 64, 32, 64, 12, 12, 2, 2, 5}));
  EXPECT_FALSE(is_transposed({"few images", 15, 32, 64, 12, 12, 0, 0, 5}));
  const WinogradCall call({"", 64, 32, 64, 12, 12, 0, 0, 5}, kFloat, kFloat, MemoryLayout::channels_last);
  EXPECT_TRUE(winograd::backward_input_pays(call.gx, call.gy, call.weight, call.p));
  EXPECT_FALSE(winograd::pays(call.gx, call.gy, call.weight, call.p)) << "with as many tiles as gx needs";
}

TEST(WinogradChoice, ManyChannelsOfSmallKernels) {
  const auto pays = [](DType dtype, int64_t channels, int64_t side, int64_t kernel, const ConvParams& p) {
    const Tensor x = empty({16, channels, side, side}, dtype), w = empty({channels, channels, kernel, kernel}, dtype);
    return winograd::pays(x, x, w, p);
  };
  const ConvParams same{.padding = {1, 1}};
  EXPECT_TRUE(pays(kFloat, 64, 28, 3, same));
  EXPECT_TRUE(pays(kFloat, 512, 4, 3, same));
  EXPECT_FALSE(pays(kFloat, 4, 28, 3, same));
  EXPECT_FALSE(pays(kFloat, 64, 1, 3, same)) << "one pixel per tile";
  EXPECT_FALSE(pays(kDouble, 64, 28, 3, same));
  EXPECT_TRUE(pays(kFloat, 64, 28, 5, {.padding = {2, 2}}));
  EXPECT_FALSE(pays(kFloat, 64, 28, 7, {.padding = {3, 3}}));
  EXPECT_FALSE(pays(kFloat, 64, 28, 3, {.stride = {2, 2}, .padding = {1, 1}}));
  EXPECT_FALSE(pays(kFloat, 64, 28, 3, {.padding = {1, 1}, .groups = 64}));
}

}  // namespace
}  // namespace tandem::testing
