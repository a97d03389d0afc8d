// The weight gradient of a convolution over columns, against the CPU's.
#include "kernels/cuda/conv_columns.h"

#include <gtest/gtest.h>

#include "support/compare.h"
#include "tandem/cuda/device.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

struct Shape {
  int64_t n, c, h, w, o, kh, kw;
  ConvParams p = {};
  Dims x() const { return {n, c, h, w}; }
  Dims weight() const { return {o, c, kh, kw}; }
  Dims y() const {
    const auto side = [&](size_t d, int64_t size, int64_t k) {
      return (size + 2 * p.padding[d] - p.dilation[d] * (k - 1) - 1) / p.stride[d] + 1;
    };
    return {n, o, side(0, h, kh), side(1, w, kw)};
  }
};

const Shape kShapes[] = {
    {2, 3, 5, 6, 4, 3, 3},
    {2, 8, 6, 5, 5, 3, 2, {.padding = {1, 1}}},
    {3, 1, 7, 7, 4, 5, 5, {.padding = {2, 1}}},
    {2, 16, 7, 6, 3, 3, 3, {.stride = {2, 3}, .padding = {1, 2}, .dilation = {2, 1}}},
    {2, 5, 4, 4, 3, 1, 1},
    {2, 5, 5, 5, 3, 1, 1, {.stride = {2, 2}}},
    {2, 8, 3, 3, 3, 1, 1, {.padding = {1, 1}}},
    {1, 2, 3, 3, 300, 3, 3},
};

TEST(ConvColumns, GiveTheGradientOfTheCpu) {
  manual_seed(3);
  for (const Shape& s : kShapes) {
    for (DType dtype : {kHalf, kBFloat16}) {
      if (dtype == kBFloat16 && !cuda::is_bf16_supported()) continue;
      const Tensor x = randn(s.x()).to(dtype), gy = randn(s.y()).to(dtype), expected = empty(s.weight());
      backend(kCPU).conv_backward_weight(expected, {}, gy, x, s.p);
      const int64_t image_bytes = s.y()[2] * s.y()[3] * cuda::column_stride(s.c * s.kh * s.kw) * 2;
      for (int64_t most_bytes : {int64_t{0}, 2 * image_bytes, 100 * image_bytes}) {
        for (bool channels_last : {false, true}) {
          SCOPED_TRACE(to_string(s.weight()) + " in slices of " + std::to_string(most_bytes));
          const MemoryFormat format = channels_last ? kChannelsLast : MemoryFormat::Contiguous;
          const Tensor g = empty(s.weight(), TensorOptions(kCUDA).memory_format(format));
          cuda::conv_backward_weight_by_columns(g, gy.to(kCUDA).contiguous(format), x.to(kCUDA), s.p, most_bytes);
          EXPECT_TRUE(allclose(g.cpu(), expected, 1e-4, 1e-4));
        }
      }
    }
  }
}

// The start of the second image is not aligned to 16 bytes.
TEST(ConvColumns, ReadsChannelsThatAreNotAligned) {
  const Tensor x = randn({1 + 2 * 8 * 4 * 4}).to(kHalf), gy = randn({2, 3, 2, 2}).to(kHalf);
  const Tensor images = x.narrow(0, 1, 2 * 8 * 4 * 4).view({2, 4, 4, 8}).permute({0, 3, 1, 2});
  const Tensor on_device = x.to(kCUDA).narrow(0, 1, 2 * 8 * 4 * 4).view({2, 4, 4, 8}).permute({0, 3, 1, 2});
  const Tensor expected = empty({3, 8, 3, 3}), g = empty({3, 8, 3, 3}, kCUDA);
  backend(kCPU).conv_backward_weight(expected, {}, gy, images, {});
  cuda::conv_backward_weight_by_columns(g, gy.to(kCUDA), on_device, {}, 1 << 20);
  EXPECT_TRUE(allclose(g.cpu(), expected, 1e-4, 1e-4));
}

// 2 x 512 x 512 exceeds the largest f16, so an intermediate rounding to f16 would make it inf.
TEST(ConvColumns, KeepF32Range) {
  const Tensor gy = full({2, 1, 1, 1}, 512, TensorOptions(kHalf).device(kCUDA)), g = empty({1, 1, 1, 1}, kCUDA);
  cuda::conv_backward_weight_by_columns(g, gy, gy, {}, 1 << 20);
  EXPECT_EQ(g.item<float>(), 2.0 * 512 * 512);
}

}  // namespace
}  // namespace tandem::testing
