// Pooling: error messages, dtypes, memory formats and second derivatives. Values are compared with PyTorch through
// tests/cases.
#include <gtest/gtest.h>

#include "support/op_test.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

using namespace testing;

class Pool : public OpTest {};

TEST_F(Pool, RefusesBadInput) {
  const Tensor x = randn({2, 3, 6, 6});
  EXPECT_THROWS(max_pool2d(Tensor(), {2}), StateError, "max_pool2d: x", "undefined");
  EXPECT_THROWS(max_pool2d(randn({6, 6}), {2}), ShapeError, "max_pool2d: x is [6, 6] f32");
  EXPECT_THROWS(max_pool2d(randn({2, 3, 0, 6}), {2}), ShapeError, "max_pool2d: ", "empty");
  EXPECT_THROWS(max_pool2d(x.to(kLong), {2}), DTypeError, "max_pool2d: x", "i64");
  EXPECT_THROWS(max_pool2d(x, {}), ShapeError, "max_pool2d: kernel_size");
  EXPECT_THROWS(max_pool2d(x, {0}), StateError, "max_pool2d: kernel_size = [0]");
  EXPECT_THROWS(max_pool2d(x, {2}, {0}), StateError, "max_pool2d: stride = [0]");
  EXPECT_THROWS(max_pool2d(x, {2}, {}, {2}), StateError, "max_pool2d: padding = [2]", "half");
  EXPECT_THROWS(max_pool2d(x, {2}, {}, {0}, {0}), StateError, "max_pool2d: dilation");
  EXPECT_THROWS(max_pool2d(x, {7}), ShapeError, "max_pool2d: no window fits", "7", "[2, 3, 6, 6]");
  EXPECT_THROWS(avg_pool2d(x, {3}, {}, {2}), StateError, "avg_pool2d: padding = [2]");
  EXPECT_THROWS(avg_pool2d(x, {2}, {}, {0}, false, true, 0), StateError, "avg_pool2d: divisor_override = 0");
  EXPECT_THROWS(adaptive_avg_pool2d(x, {0}), StateError, "adaptive_avg_pool2d: output_size = [0]");
  EXPECT_THROWS(adaptive_avg_pool2d(x, {1, 2, 3}), ShapeError, "adaptive_avg_pool2d: output_size");
  EXPECT_THROWS(max_pool2d_backward(x, zeros({2, 3, 3, 3}, kByte), {2, 3, 6, 6}, {}), ShapeError,
                "max_pool2d_backward: gy");
  EXPECT_THROWS(avg_pool2d_backward(x, {2, 3, 5, 5}, {}), ShapeError, "avg_pool2d_backward: gy");
  EXPECT_THROWS(adaptive_avg_pool2d_backward(x, {2, 4, 9, 9}), ShapeError, "adaptive_avg_pool2d_backward: ");
}

TEST_F(Pool, OutputSizes) {
  const Tensor x = randn({1, 1, 7, 7});
  EXPECT_EQ(max_pool2d(x, {2}).sizes(), IntArrayRef({1, 1, 3, 3}));
  EXPECT_EQ(max_pool2d(x, {2}, {}, {0}, {1}, true).sizes(), IntArrayRef({1, 1, 4, 4}));
  EXPECT_EQ(max_pool2d(x, {2}, {2}, {1}, {1}, true).sizes(), IntArrayRef({1, 1, 4, 4}));
  // One more window would start inside the padding.
  EXPECT_EQ(max_pool2d(x, {2}, {3}, {1}, {1}, true).sizes(), IntArrayRef({1, 1, 3, 3}));
  EXPECT_EQ(avg_pool2d(randn({1, 3, 3}), {2}, {2}, {1}, true).sizes(), IntArrayRef({1, 2, 2}));
  EXPECT_EQ(adaptive_avg_pool2d(x, {3, 9}).sizes(), IntArrayRef({1, 1, 3, 9}));
}

// [1, 2, n] in windows of which some lie between elements, as images of one row and of one plane.
TEST_F(Pool, SiblingsAgreeOnWindowsThatMeetNoElement) {
  for (const int64_t n : {1, 2, 3, 5}) {
    const Tensor x = randn({1, 2, n});
    const Tensor image = unsqueeze(x, 2), volume = unsqueeze(image, 2);
    for (const int64_t kernel : {2, 3}) {
      for (const int64_t dilation : {1, 2, 4}) {
        if (n + 2 < dilation * (kernel - 1) + 1) continue;
        for (const bool ceil_mode : {false, true}) {
          const std::vector<int64_t> k{1, 1, kernel}, s{1, 1, 2}, p{0, 0, 1}, d{1, 1, dilation};
          const Tensor want = max_pool1d(x, {kernel}, {2}, {1}, {dilation}, ceil_mode);
          const Tensor planes = max_pool3d(volume, k, s, p, d, ceil_mode);
          const auto [values, places] = max_pool1d_with_indices(x, {kernel}, {2}, {1}, {dilation}, ceil_mode);
          EXPECT_TRUE(near(squeeze(squeeze(planes, 2), 2), want, kExact)) << n << ' ' << kernel << ' ' << dilation;
          EXPECT_TRUE(near(values, want, kExact)) << n << ' ' << kernel << ' ' << dilation;
          EXPECT_EQ(places.sizes(), want.sizes());
        }
      }
    }
  }
  const Tensor one = ones({1, 1, 1, 1, 1}).requires_grad_();
  const Tensor y = max_pool3d(one, {1, 1, 2}, {1}, {0, 0, 1}, {1, 1, 2});
  EXPECT_TRUE(near(y, full({1, 1, 1, 1, 1}, -kInf), kExact));
  y.sum().backward();
  EXPECT_TRUE(near(one.grad(), zeros({1, 1, 1, 1, 1}), kExact));
}

TEST_F(Pool, SiblingsKeepTheHistoryOfEmptyBatches) {
  for (size_t n : {2U, 3U}) {
    const Dims image(n, 4), window(n, 2);
    Dims sizes{0, 2};
    for (int64_t size : image) sizes.push_back(size);
    const Tensor x = zeros(sizes).requires_grad_(), samples = zeros({0, 2, static_cast<int64_t>(n)});
    const auto [pooled, indices] = n == 2 ? max_pool2d_with_indices(x, window) : max_pool3d_with_indices(x, window);
    const Tensor fractional = std::get<0>(n == 2 ? fractional_max_pool2d(x, window, window, samples)
                                                 : fractional_max_pool3d(x, window, window, samples));
    const Tensor unpooled = n == 2 ? max_unpool2d(pooled, indices, image) : max_unpool3d(pooled, indices, image);
    for (const Tensor& y : {pooled, fractional, unpooled}) {
      x.mutable_grad() = {};
      y.sum().backward({}, true);
      EXPECT_EQ(x.grad().sizes(), x.sizes());
    }
  }
}

// Output sizes that are multiples of the input's, by scales that round down to them.
TEST_F(Pool, NearestCopiesAndDoublesWhateverTheScale) {
  const Tensor x = arange(3, kFloat).view({1, 1, 3});
  for (int64_t times : {1, 2}) {
    const double scale = static_cast<double>(times) + 0.3;
    const int64_t size = 3 * times;
    const Tensor y = repeat_interleave(x, times, 2);
    EXPECT_TRUE(equal(upsample_nearest1d(x, {size}, scale), y));
    EXPECT_TRUE(equal(upsample_nearest2d(x.unsqueeze(2), {1, size}, 1.0, scale), y.unsqueeze(2)));
    EXPECT_TRUE(
        equal(upsample_nearest3d(x.view({1, 1, 1, 1, 3}), {1, 1, size}, 1.0, 1.0, scale).flatten(), y.flatten()));
  }
}

TEST_F(Pool, ChannelsLastAndLargeWindows) {
  const Tensor x = randn({2, 3, 8, 8}), last = x.contiguous(kChannelsLast).requires_grad_();
  const Tensor plain = x.clone().requires_grad_();
  const std::vector<std::function<Tensor(const Tensor&)>> pools = {
      [](const Tensor& v) { return max_pool2d(v, {3}, {2}, {1}); },
      [](const Tensor& v) { return avg_pool2d(v, {3}, {2}, {1}); },
      [](const Tensor& v) { return adaptive_avg_pool2d(v, {3}); }, [](const Tensor& v) { return max_pool2d(v, {8}); }};
  for (size_t i = 0; i < pools.size(); ++i) {
    const Tensor a = pools[i](plain), b = pools[i](last);
    EXPECT_TRUE(a.is_contiguous());
    EXPECT_TRUE(b.is_contiguous(kChannelsLast)) << i;
    EXPECT_TRUE(near(a, b, tolerance(kFloat, 9)));
    const Tensor gy = randn(a.sizes());
    const Tensor ga = autograd::grad({a}, {plain}, {gy})[0],
                 gb = autograd::grad({b}, {last}, {gy.contiguous(kChannelsLast)})[0];
    EXPECT_TRUE(is_channels_last(gb)) << i;
    EXPECT_TRUE(near(ga, gb, tolerance(kFloat, 9)));
  }
  const Tensor wide = randn({1, 1, 20, 20}).requires_grad_();  // 400 cells: indices do not fit in u8
  const Tensor y = max_pool2d(wide, {20});
  y.sum().backward();
  EXPECT_EQ(wide.grad().sum().item<float>(), 1.0F);
  EXPECT_EQ((wide.detach() * wide.grad()).sum().item<float>(), y.item<float>());
}

// Channel c holds c times the smallest number of the dtype, which shows any flush to zero.
TEST_F(Pool, SmallestNumbersAreKept) {
  for (DType dtype : {kHalf, kBFloat16}) {
    for (const auto& [channels, size] : {std::pair<int64_t, int64_t>{64, 7}, {8, 4}, {16, 5}, {33, 8}, {3, 6}}) {
      const double tiny = dtype == kHalf ? 0x1p-24 : 0x1p-133;
      const Tensor values = (arange(1, channels + 1, kDouble) * tiny).to(dtype).view({1, channels, 1, 1});
      const Tensor x = values.expand({2, channels, size, size}).contiguous().requires_grad_();
      const Tensor want = values.expand({2, channels, 1, 1});
      EXPECT_TRUE(same_bits(adaptive_avg_pool2d(x, 1), want)) << name(dtype) << ' ' << channels;
      EXPECT_TRUE(same_bits(max_pool2d(x, size), want)) << name(dtype) << ' ' << channels;
      max_pool2d(x, size).backward(want.contiguous());
      EXPECT_TRUE(same_bits(x.grad().sum(IntArrayRef{2, 3}, true), want)) << name(dtype) << ' ' << channels;
      x.mutable_grad() = {};
    }
  }
}

// Windows of 8193 x 8193 cells: f32 cannot represent all of their indices.
TEST_F(Pool, LargeWindowsGiveOneElementTheGradient) {
  for (const auto& [dtype, channels] : {std::pair<DType, int64_t>{kFloat, 1}, {kHalf, 1}, {kFloat, 8}, {kDouble, 1}}) {
    const Tensor x = randn({1, channels, 8, 8}).to(dtype).requires_grad_();
    const Tensor y = max_pool2d(x, 8193, 1, 4096);
    y.sum().backward();
    EXPECT_EQ(x.grad().ne(0).sum().item<int64_t>(), channels) << name(dtype);
    EXPECT_EQ(x.grad().sum().item<double>(), static_cast<double>(y.numel())) << name(dtype);
    EXPECT_TRUE(same_bits(x.grad().mul(x.detach()).ne(0), x.detach().eq(y.detach().slice(2, 0, 1).slice(3, 0, 1))));
  }
}

TEST_F(Pool, InputsMayHaveAnyStrides) {
  const std::vector<std::pair<Dims, Dims>> layouts = {
      {{3, 1, 4}, {1, 1, 0}},       {{3, 1, 4}, {0, 1, 1}}, {{3, 2, 4}, {1, 0, 3}},      {{2, 3, 1, 4}, {3, 1, 1, 0}},
      {{2, 3, 4, 1}, {3, 1, 0, 7}}, {{3, 1, 1}, {1, 5, 9}}, {{1, 3, 1, 1}, {1, 1, 1, 1}}};
  for (const auto& [sizes, strides] : layouts) {
    const Tensor x = randn({64}, kDouble).as_strided(sizes, strides).detach().requires_grad_();
    const Tensor dense = x.detach().contiguous().clone().requires_grad_();
    for (const Tensor& leaf : {x, dense}) {
      Tensor y = max_pool2d(leaf, {1}, {1}) + avg_pool2d(leaf, {1}, {1});
      y = y + adaptive_avg_pool2d(leaf, {leaf.size(-2), leaf.size(-1)});
      y.sum().backward();
    }
    EXPECT_EQ(values_of(dense.grad()), std::vector<double>(static_cast<size_t>(dense.numel()), 3)) << to_string(sizes);
    EXPECT_EQ(values_of(x.grad()), values_of(dense.grad())) << to_string(sizes) << to_string(strides);
  }
}

TEST_F(Pool, Derivatives) {
  check_twice(
      [](In v) -> Out {
        return {max_pool2d(v[0], {3, 2}, {2, 1}, {1, 0}, {1, 2}, true)};
      },
      {f64({2, 2, 5, 5})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {3}, {2}, {1}, true, false)}; }, {f64({2, 5, 6})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {2}, {}, {0}, false, true, 3)}; }, {f64({1, 2, 4, 4})});
  check_twice([](In v) -> Out { return {adaptive_avg_pool2d(v[0], {2, 3})}; }, {f64({1, 2, 5, 4})});
  // A loss that is not linear in the output reaches the second derivative of the pools.
  check_twice([](In v) -> Out { return {max_pool2d(v[0], {2}).square()}; }, {f64({1, 1, 4, 4})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {2}).square()}; }, {f64({1, 1, 4, 4})});
}

}  // namespace
}  // namespace tandem
