// Convolution layers, unfold and fold: each against its op, initial values, printing, bad options.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/layer_checks.h"
#include "support/throws.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using testing::expect_uniform;
using testing::same;
using testing::text;

namespace F = nn::functional;

TEST(Conv2d, ForwardAndInitMatchPyTorch) {
  manual_seed(2);
  nn::Conv2d conv(nn::Conv2dOptions(4, 6, {3, 5}).stride(2).padding({1, 2}).dilation(1).groups(2));
  EXPECT_EQ(conv->weight.sizes(), IntArrayRef({6, 2, 3, 5}));
  expect_uniform(conv->weight, 1 / std::sqrt(30.0));
  EXPECT_LE(conv->bias.abs().max().item<float>(), 1 / std::sqrt(30.0));
  const Tensor x = randn({2, 4, 9, 8});
  EXPECT_TRUE(same(conv(x), conv2d(x, conv->weight, conv->bias, {2, 2}, {1, 2}, {1, 1}, 2)));
  EXPECT_EQ(text(conv), "tandem::nn::Conv2d(4, 6, kernel_size=[3, 5], stride=[2, 2], padding=[1, 2], groups=2)");
  EXPECT_EQ(text(nn::Conv2d(nn::Conv2dOptions(1, 2, 3).dilation(2).bias(false))),
            "tandem::nn::Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1], dilation=[2, 2], bias=false)");
  EXPECT_THROWS(nn::Conv2d(0, 1, 3), StateError, "Conv2d", "in_channels = 0");
  EXPECT_THROWS(nn::Conv2d(nn::Conv2dOptions(4, 6, 3).groups(4)), StateError, "groups = 4");
  EXPECT_THROWS(nn::Conv2d(nn::Conv2dOptions(4, 6, {3, 3, 3})), StateError, "3 values");
  EXPECT_THROWS(conv(randn({2, 3, 9, 8})), ShapeError, "conv2d");
}

TEST(Conv2d, SamePaddingKeepsTheSize) {
  manual_seed(3);
  const Tensor x = randn({1, 2, 7, 6});
  for (int64_t kernel = 1; kernel <= 4; ++kernel) {
    for (int64_t dilation = 1; dilation <= 2; ++dilation) {
      nn::Conv2d conv(nn::Conv2dOptions(2, 3, kernel).dilation(dilation).padding(kSame));
      const Tensor y = conv(x);
      ASSERT_EQ(y.sizes(), IntArrayRef({1, 3, 7, 6}));
      // PyTorch pads total / 2 before and the rest after: equal to a zero-padded copy convolved without padding.
      const int64_t total = dilation * (kernel - 1), before = total / 2;
      Tensor padded = zeros({1, 2, 7 + total, 6 + total});
      padded.narrow(2, before, 7).narrow(3, before, 6).copy_(x);
      const Tensor expected = conv2d(padded, conv->weight, conv->bias, {1}, {0}, {dilation});
      EXPECT_LT((y - expected).abs().max().item<float>(), 1e-5F) << kernel << " " << dilation;
    }
  }
  nn::Conv2d valid(nn::Conv2dOptions(2, 3, 3).padding(kValid));
  EXPECT_EQ(valid(x).sizes(), IntArrayRef({1, 3, 5, 4}));
  EXPECT_EQ(text(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).padding(kSame))),
            "tandem::nn::Conv2d(2, 3, kernel_size=[3, 3], stride=[1, 1], padding='same')");
  EXPECT_EQ(text(nn::Conv1d(nn::Conv1dOptions(2, 3, 3).padding(1).padding_mode(kReflect))),
            "tandem::nn::Conv1d(2, 3, kernel_size=3, stride=1, padding=1, padding_mode=kReflect)");
  EXPECT_THROWS(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).stride(2).padding(kSame)), StateError, "kSame", "[2, 2]");
  EXPECT_THROWS(F::conv2d(x, valid->weight, F::Conv2dFuncOptions().stride(2).padding(kSame)), StateError,
                "conv2d: ", "'same'", "[2, 2]");
  EXPECT_THROWS(conv2d(x, valid->weight, {}, 1, "full"), StateError, "conv2d: ", "'full'", "'valid'");
}

TEST(Conv1d, ForwardInitAndTextMatchPyTorch) {
  manual_seed(2);
  nn::Conv1d conv(nn::Conv1dOptions(4, 6, 3).stride(2).padding(1).dilation(2).groups(2));
  EXPECT_EQ(conv->weight.sizes(), IntArrayRef({6, 2, 3}));
  expect_uniform(conv->weight, 1 / std::sqrt(6.0));
  EXPECT_LE(conv->bias.abs().max().item<float>(), 1 / std::sqrt(6.0));
  const Tensor x = randn({2, 4, 9});
  EXPECT_TRUE(same(conv(x), conv1d(x, conv->weight, conv->bias, {2}, {1}, {2}, 2)));
  EXPECT_TRUE(same(nn::Sequential(conv)->forward(x), conv(x)));
  EXPECT_EQ(text(conv), "tandem::nn::Conv1d(4, 6, kernel_size=3, stride=2, padding=1, dilation=2, groups=2)");
  nn::Conv1d as_long(nn::Conv1dOptions(4, 2, 4).padding(kSame).bias(false));
  EXPECT_EQ(as_long(x).sizes(), IntArrayRef({2, 2, 9}));
  EXPECT_EQ(text(as_long), "tandem::nn::Conv1d(4, 2, kernel_size=4, stride=1, padding='same', bias=false)");
  EXPECT_EQ(as_long->parameters().size(), 1U);
}

TEST(Conv3d, ForwardInitAndTextMatchPyTorch) {
  manual_seed(2);
  nn::Conv3d conv(nn::Conv3dOptions(2, 4, {1, 2, 3}).padding({0, 1, 2}));
  EXPECT_EQ(conv->weight.sizes(), IntArrayRef({4, 2, 1, 2, 3}));
  expect_uniform(conv->weight, 1 / std::sqrt(12.0));
  const Tensor x = randn({1, 2, 3, 4, 5});
  EXPECT_TRUE(same(conv(x), conv3d(x, conv->weight, conv->bias, {1}, {0, 1, 2})));
  EXPECT_EQ(text(conv), "tandem::nn::Conv3d(2, 4, kernel_size=[1, 2, 3], stride=[1, 1, 1], padding=[0, 1, 2])");
  nn::Conv3d as_large(nn::Conv3dOptions(2, 1, {1, 2, 3}).padding(kSame));
  Tensor padded = zeros({1, 2, 3, 5, 7});
  padded.narrow(3, 0, 4).narrow(4, 1, 5).copy_(x);
  EXPECT_LT((as_large(x) - conv3d(padded, as_large->weight, as_large->bias)).abs().max().item<float>(), 1e-5F);
}

TEST(ConvTranspose, ForwardInitAndTextMatchPyTorch) {
  manual_seed(2);
  nn::ConvTranspose2d conv(nn::ConvTranspose2dOptions(4, 6, {3, 2})
                               .stride({2, 3})
                               .padding(1)
                               .output_padding({1, 2})
                               .groups(2)
                               .dilation({1, 2}));
  EXPECT_EQ(conv->weight.sizes(), IntArrayRef({4, 3, 3, 2}));
  expect_uniform(conv->weight, 1 / std::sqrt(18.0));
  EXPECT_EQ(conv->bias.sizes(), IntArrayRef({6}));
  EXPECT_LE(conv->bias.abs().max().item<float>(), 1 / std::sqrt(18.0));
  const Tensor x = randn({2, 4, 3, 4});
  EXPECT_TRUE(same(conv(x), conv_transpose2d(x, conv->weight, conv->bias, {2, 3}, {1}, {1, 2}, 2, {1, 2})));
  EXPECT_EQ(text(conv),
            "tandem::nn::ConvTranspose2d(4, 6, kernel_size=[3, 2], stride=[2, 3], padding=[1, 1], dilation=[1, 2], "
            "output_padding=[1, 2], groups=2)");
  nn::ConvTranspose1d line(nn::ConvTranspose1dOptions(4, 2, 3).stride(2).bias(false));
  EXPECT_EQ(text(line), "tandem::nn::ConvTranspose1d(4, 2, kernel_size=3, stride=2, bias=false)");
  const Tensor single = x[0].select(1, 0);
  EXPECT_TRUE(same(line(single), conv_transpose1d(single, line->weight, {}, {2})));
  nn::ConvTranspose3d volume(4, 2, 2);
  EXPECT_EQ(text(volume), "tandem::nn::ConvTranspose3d(4, 2, kernel_size=[2, 2, 2], stride=[1, 1, 1])");
  const Tensor v = randn({1, 4, 2, 2, 2});
  EXPECT_TRUE(same(volume(v), conv_transpose3d(v, volume->weight, volume->bias)));
  EXPECT_TRUE(same(nn::Sequential(volume)->forward(v), volume(v)));
}

TEST(ConvTranspose, OutputSizeReplacesOutputPadding) {
  manual_seed(2);
  nn::ConvTranspose2d conv(nn::ConvTranspose2dOptions(2, 3, 3).stride(2).padding(1));
  const Tensor x = randn({1, 2, 3, 4}), y = conv->forward(x, IntArrayRef({6, 7}));
  EXPECT_TRUE(same(y, conv_transpose2d(x, conv->weight, conv->bias, {2}, {1}, {1, 0})));
  EXPECT_TRUE(same(conv->forward(x, IntArrayRef({1, 3, 6, 7})), y));
  EXPECT_THROWS(conv->forward(x, IntArrayRef({6, 9})), ShapeError, "conv_transpose2d: output_size = [6, 9]",
                "entry 1 must be in [7, 8]");
  EXPECT_THROWS(conv->forward(x, IntArrayRef({6})), ShapeError, "output_size = [6]", "2 or 4 entries");
}

TEST(Fold, MatchesTheOps) {
  manual_seed(2);
  const Tensor x = randn({2, 3, 5, 6});
  nn::Unfold unfold(nn::UnfoldOptions({2, 3}).padding(1).stride({2, 1}).dilation({1, 2}));
  const Tensor columns = unfold(x);
  EXPECT_TRUE(same(columns, im2col(x, {2, 3}, {1, 2}, {1}, {2, 1})));
  nn::Fold fold(nn::FoldOptions({5, 6}, {2, 3}).padding(1).stride({2, 1}).dilation({1, 2}));
  EXPECT_TRUE(same(fold(columns), col2im(columns, {5, 6}, {2, 3}, {1, 2}, {1}, {2, 1})));
  EXPECT_EQ(text(unfold), "tandem::nn::Unfold(kernel_size=[2, 3], dilation=[1, 2], padding=[1, 1], stride=[2, 1])");
  EXPECT_EQ(text(nn::Fold(4, 2)),
            "tandem::nn::Fold(output_size=[4, 4], kernel_size=[2, 2], dilation=[1, 1], padding=[0, 0], stride=[1, 1])");
}

}  // namespace
}  // namespace tandem
