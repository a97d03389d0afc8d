// Which convolutions are passed to cuDNN, and the work around them, with the fakes.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda_fake/fake_driver.h"
#include "cuda_fake/fake_vendors.h"
#include "tandem/backend.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

class ConvWays : public ::testing::Test {
 protected:
  ConvWays() { reset(); }
  ~ConvWays() override { vendors() = {}; }
  static void reset() {
    vendors().convolutions.clear();
    vendors().products.clear();
    Calls::instance().reset();
  }
};

Tensor image(IntArrayRef sizes, DType dtype = kHalf) {
  return empty(sizes, TensorOptions(dtype).device(kCUDA).memory_format(kChannelsLast));
}

/// Computes the f32 gradient of a weight [o, 16, k, k] from f16 operands.
void weight_gradient(int64_t o, int64_t k) {
  const Tensor x = image({4, 16, 12, 12}), gy = image({4, o, 13 - k, 13 - k});
  backend(kCUDA).conv_backward_weight(image({o, 16, k, k}, kFloat), {}, gy, x, {});
}

TEST_F(ConvWays, RequestsF32WeightGradientsOfF16) {
  weight_gradient(264, 3);
  ASSERT_EQ(vendors().convolutions.size(), 1U);
  EXPECT_EQ(vendors().convolutions[0].dtypes,
            (std::vector<cudnnDataType_t>{CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}));
  EXPECT_EQ(Calls::instance().launches(), 0);
}

TEST_F(ConvWays, FallbackKeepsWeightGradientsInF32) {
  vendors().mixes_dtypes = false;
  weight_gradient(272, 3);
  EXPECT_EQ(vendors().convolutions.size(), 0U);
  EXPECT_EQ(vendors().products.size(), 1U) << "over columns";
  EXPECT_EQ(Calls::instance().launches(), 1) << "the launch that makes the columns";
  reset();
  weight_gradient(24, 1);
  EXPECT_EQ(vendors().products.size(), 1U);
  EXPECT_EQ(Calls::instance().launches(), 0) << "1x1: the image is the columns";
  reset();
  weight_gradient(24, 3);
  ASSERT_EQ(vendors().convolutions.size(), 1U) << "few outputs: from operands widened to f32";
  for (const cudnnDataType_t t : vendors().convolutions[0].dtypes) EXPECT_EQ(t, CUDNN_DATA_FLOAT);
  EXPECT_EQ(Calls::instance().launches(), 2) << "x and gy are widened";
  reset();
  weight_gradient(24, 3);
  EXPECT_EQ(Calls::instance()["cudnnBackendCreateDescriptor"], 1)
      << "the refusal is cached; a run only packs its pointers";
}

TEST_F(ConvWays, PadsChannelsIfThatPays) {
  const Tensor y = image({8, 256, 14, 14}), x = image({8, 509, 14, 14}), w = image({256, 509, 3, 3});
  const ConvParams p{.padding = {1, 1}};
  backend(kCUDA).conv(y, x, w, {}, p, Activation::none);
  ASSERT_EQ(vendors().convolutions.size(), 1U);
  EXPECT_EQ(vendors().convolutions[0].sizes,
            (std::vector<std::vector<int64_t>>{{8, 512, 14, 14}, {256, 512, 3, 3}, {8, 256, 14, 14}}));
  EXPECT_EQ(Calls::instance().launches(), 4) << "x and the weight: zeros and a copy each; y is written in place";
  reset();
  backend(kCUDA).conv_backward_input(x, y, w, p);
  EXPECT_EQ(vendors().convolutions[0].sizes[0][1], 512);
  EXPECT_EQ(Calls::instance().launches(), 3) << "the weight, and the gradient's part of 509 channels";
}

TEST_F(ConvWays, PassesVolumesInPlace) {
  const TensorOptions options = TensorOptions(kHalf).device(kCUDA);
  const Tensor y = empty({2, 8, 3, 4, 5}, options), x = empty({2, 16, 5, 6, 7}, options),
               w = empty({8, 16, 3, 3, 3}, options);
  backend(kCUDA).conv(y, x, w, {}, {}, Activation::none);
  backend(kCUDA).conv_backward_input(x, y, w, {});
  backend(kCUDA).conv_backward_weight(w, {}, y, x, {});
  ASSERT_EQ(vendors().convolutions.size(), 3U);
  for (const Vendors::Convolution& convolution : vendors().convolutions) {
    EXPECT_EQ(convolution.sizes,
              (std::vector<std::vector<int64_t>>{{2, 16, 5, 6, 7}, {8, 16, 3, 3, 3}, {2, 8, 3, 4, 5}}));
  }
  EXPECT_EQ(Calls::instance().launches(), 0);
}

TEST_F(ConvWays, FallbackOfVolumesWidensOperands) {
  vendors().mixes_dtypes = false;
  const TensorOptions options = TensorOptions(kHalf).device(kCUDA);
  const Tensor y = empty({2, 256, 1, 1, 1}, options), x = empty({2, 8, 3, 3, 3}, options),
               w = empty({256, 8, 3, 3, 3}, options.dtype(kFloat));
  backend(kCUDA).conv_backward_weight(w, {}, y, x, {});
  ASSERT_EQ(vendors().convolutions.size(), 1U);
  for (const cudnnDataType_t t : vendors().convolutions[0].dtypes) EXPECT_EQ(t, CUDNN_DATA_FLOAT);
  EXPECT_EQ(vendors().products.size(), 0U);
}

TEST_F(ConvWays, LinesAndTransposedConvolutionsAreConvolutionsOfImages) {
  const Tensor x = empty({2, 4, 9}, TensorOptions(kFloat).device(kCUDA)),
               w = empty({4, 3, 3}, TensorOptions(kFloat).device(kCUDA));
  conv_transpose1d(x, w);
  ASSERT_EQ(vendors().convolutions.size(), 1U);
  EXPECT_EQ(vendors().convolutions[0].sizes,
            (std::vector<std::vector<int64_t>>{{2, 3, 1, 11}, {4, 3, 1, 3}, {2, 4, 1, 9}}));
  EXPECT_EQ(Calls::instance().launches(), 0);
}

TEST_F(ConvWays, DoesNotPadFirstLayers) {
  const Tensor y = image({64, 64, 28, 28}), x = image({64, 3, 28, 28}), w = image({64, 3, 3, 3});
  backend(kCUDA).conv(y, x, w, {}, {.padding = {1, 1}}, Activation::none);
  EXPECT_EQ(vendors().convolutions[0].sizes[0][1], 3);
  EXPECT_EQ(Calls::instance().launches(), 0);
}

}  // namespace
}  // namespace tandem::cuda::testing
