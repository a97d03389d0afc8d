// Sizes, strides, windows and offsets near the limits of int64: rejected by name or computed correctly, never wrapped.
#include <cstdint>
#include <limits>

#include "support/op_test.h"

namespace tandem::testing {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kHalf32 = int64_t{1} << 32, kQuarter = int64_t{1} << 62;

/// One element repeated `count` times by a stride of 0.
Tensor repeated(int64_t count, DType dtype = kBool) { return ones({1}, dtype).expand({count}); }
/// No elements, but huge strides: [0, 2] with strides [2^62, 1].
Tensor huge_strides() { return as_strided(zeros({0}), {0, 2}, {kQuarter, 1}); }

TEST(Sizes, ElementCountsBeyondInt64AreRefused) {
  const Tensor one = ones({1, 1});
  EXPECT_THROWS(one.expand({kHalf32, kHalf32}), ShapeError, "expand: ", "4294967296, 4294967296");
  EXPECT_THROWS(ones({1}).as_strided({kHalf32, kHalf32}, {0, 0}), ShapeError, "as_strided: ", "4294967296");
  float cell = 1;
  EXPECT_THROWS(from_blob(&cell, {kHalf32, kHalf32}, {0, 0}), ShapeError, "from_blob: ", "4294967296");
  EXPECT_THROWS(one.expand({kHalf32, 1}) + one.expand({1, kHalf32}), ShapeError, "add: ", "4294967296");
  EXPECT_THROWS(eye(kHalf32, kHalf32), ShapeError, "eye: ");
  EXPECT_THROWS(matmul(repeated(kHalf32, kFloat).unsqueeze(1), repeated(kHalf32, kFloat).unsqueeze(0)), ShapeError,
                "matmul: ");
  EXPECT_EQ(one.expand({kHalf32, kHalf32 / 2 - 1}).numel(), kHalf32 * (kHalf32 / 2 - 1));
}

TEST(Sizes, CatAndStackBeyondInt64AreRefused) {
  const Tensor x = repeated(kQuarter);
  EXPECT_THROWS(cat({x, x, x, x}), ShapeError, "cat: ", "4611686018427387904");
  EXPECT_THROWS(cat({x, x}), ShapeError, "cat: ");
  EXPECT_THROWS(stack({x, x, x, x}), ShapeError, "stack: ");
}

TEST(Sizes, ByteCountsBeyondInt64AreRefused) {
  EXPECT_THROWS(repeated(kQuarter, kDouble).contiguous(), ShapeError, "contiguous: ", "bytes");
  EXPECT_THROWS(repeated(kQuarter, kDouble).nbytes(), ShapeError, "nbytes: ", "4611686018427387904");
}

TEST(Sizes, PoolingWindowsBeyondInt64AreRefused) {
  const Tensor x = ones({1, 3, 6, 6});
  EXPECT_THROWS(max_pool2d(x, {5}, {3}, {0}, {kQuarter}), ShapeError, "max_pool2d: ", "4611686018427387904",
                "[1, 3, 6, 6]");
  EXPECT_THROWS(max_pool2d(x, {5}, {1}, {0}, {kQuarter}), ShapeError, "max_pool2d: ");
  EXPECT_THROWS(max_pool2d(x, {5}, {1}, {0}, {kMost}), ShapeError, "max_pool2d: ");
  EXPECT_THROWS(max_pool2d(x, {kHalf32}, {1}, {kHalf32 / 2}), ShapeError, "max_pool2d: ", "4294967296");
  EXPECT_THROWS(avg_pool2d(x, {kHalf32}, {1}, {kHalf32 / 2}), ShapeError, "avg_pool2d: ", "4294967296");
  EXPECT_THROWS(max_pool2d(x, {kMost}, {1}, {kMost}), StateError, "max_pool2d: padding");
  EXPECT_THROWS(avg_pool2d(x, {kMost}, {1}, {kQuarter - 1}), ShapeError, "avg_pool2d: ");
}

TEST(Sizes, StrideBeyondTheImageGivesOneWindow) {
  const Tensor x = arange(1, 37, kFloat).view({1, 1, 6, 6});
  for (int64_t stride : {int64_t{9}, kHalf32 + 1, kMost}) {
    EXPECT_EQ(max_pool2d(x, {2}, {stride}).item<float>(), 8.0F) << stride;  // the corner with elements 1, 2, 7, 8
    EXPECT_EQ(max_pool2d(x, {2}, {stride}, {1}).item<float>(), 1.0F) << stride;
    EXPECT_EQ(avg_pool2d(x, {2}, {stride}).item<float>(), 4.5F) << stride;
    for (DType dtype : {kFloat, kDouble}) {
      const Tensor image = x.to(dtype, false, true).requires_grad_(),
                   weight = ones({1, 1, 2, 2}, dtype).requires_grad_();
      const Tensor y = conv2d(image, weight, {}, {stride}, {1});
      EXPECT_EQ(y.item<float>(), 1.0F) << stride;
      y.sum().backward();
      EXPECT_EQ(image.grad().sum().item<float>(), 1.0F) << stride;
      EXPECT_EQ(weight.grad().sum().item<float>(), 1.0F) << stride;
    }
  }
}

// The work must depend on the image, not the window: here the image covers 3 of 2^30 rows or columns.
TEST(Sizes, WindowsOfMostlyPaddingAreFast) {
  constexpr int64_t most = int64_t{1} << 30;
  for (DType dtype : {kFloat, kDouble}) {
    for (MemoryFormat format : {MemoryFormat::Contiguous, kChannelsLast}) {
      for (int64_t d : {2, 3}) {
        const Dims kernel = d == 2 ? Dims{most, 1} : Dims{1, most},
                   padding = d == 2 ? Dims{most / 2, 0} : Dims{0, most / 2};
        const Tensor x = arange(1, 19, dtype).view({1, 2, 3, 3}).contiguous(format).requires_grad_();
        const Tensor y = max_pool2d(x, kernel, {1}, padding);
        ASSERT_EQ(y.size(d), 4);  // each window covers the whole image along d, whose last entries are the largest
        for (int64_t o = 0; o < 4; ++o) EXPECT_TRUE(same_bits(y.select(d, o), x.select(d, 2))) << name(dtype);
        y.sum().backward();
        EXPECT_TRUE(same_bits(x.grad().select(d, 2), full({1, 2, 3}, 4, dtype))) << name(dtype);
        EXPECT_EQ(x.grad().sum().item<double>(), 24) << name(dtype);
        EXPECT_EQ(max_pool2d(x, kernel, {most / 2}, padding, {1}, true).size(d), 2);
      }
    }
  }
}

TEST(Sizes, ConvolutionsBeyondInt64AreRefused) {
  const Tensor x = ones({1, 1, 6, 6}), weight = ones({1, 1, 3, 3});
  EXPECT_THROWS(conv2d(x, weight, {}, {1}, {0}, {kQuarter}), StateError, "conv2d: ", "dilation");
  EXPECT_THROWS(conv2d(x, weight, {}, {1}, {kMost}), StateError, "conv2d: ", "padding");
  EXPECT_THROWS(conv2d(x, weight, {}, {1}, {0}, {1}, kMost), StateError, "conv2d: groups");
}

TEST(Sizes, OffsetsBeyondInt64AreRefused) {
  const Tensor x = ones({4}).slice(0, 1);
  EXPECT_THROWS(as_strided(x, {1}, {1}, kMost), IndexError, "as_strided: ");
  EXPECT_THROWS(as_strided(x, {1}, {1}, kLeast), IndexError, "as_strided: ");
  EXPECT_EQ(as_strided(x, {1}, {1}, 0).numel(), 1);
}

// The stride of a dimension of size 1 or 0 is never used, so it may have any value, but must not cause overflow.
TEST(Sizes, UnusedStridesMayBeLarge) {
  const Tensor pair = as_strided(zeros({2}), {1, 2}, {kMost, 1});
  EXPECT_EQ(pair.unsqueeze(0).sizes(), IntArrayRef({1, 1, 2}));
  EXPECT_EQ(pair.slice(0, 0, 1, kMost).sizes(), IntArrayRef({1, 2}));
  EXPECT_EQ(pair.slice(0, 1, 1).numel(), 0);
  EXPECT_EQ(huge_strides().unsqueeze(0).numel(), 0);
  EXPECT_EQ(huge_strides().view({2, 0}).numel(), 0);
  const Tensor x = arange(6, kFloat).requires_grad_();
  const Tensor first = x.slice(0, 2, 6, kMost);
  EXPECT_EQ(first.item<float>(), 2.0F);
  first.sum().backward();
  EXPECT_EQ(x.grad().sum().item<float>(), 1.0F);
  EXPECT_EQ(as_strided(zeros({0}), {0, 3}, {1, kQuarter}).requires_grad_().as_strided({0, 3}, {1, kQuarter}).numel(),
            0);
}

TEST(Sizes, RangesOverAllOfInt64AreExact) {
  const Tensor x = arange(kLeast, kMost, kQuarter);
  ASSERT_EQ(x.numel(), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(x[i].item<int64_t>(), (i - 2) * kQuarter);  // kLeast is -2 kQuarter
}

TEST(Sizes, TooManyChunksAreRefused) {
  constexpr int64_t many = int64_t{1} << 40;
  EXPECT_THROWS(chunk(repeated(many), many), ShapeError, "chunk: ", "1099511627776");
  EXPECT_THROWS(chunk(zeros({0}), many), ShapeError, "chunk: ", "1099511627776");
  EXPECT_EQ(chunk(ones({3}), many).size(), 3U);
  EXPECT_EQ(chunk(ones({3}), kMost).size(), 3U);
}

}  // namespace
}  // namespace tandem::testing
