// Tests of a device without products of bf16, such as a T4. They run with TANDEM_EMULATED_CAPABILITY=7.5.
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/cuda/device.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

using tandem::testing::mismatch;

class Turing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (is_bf16_supported()) GTEST_SKIP() << "the device multiplies bf16";
  }
};

TEST_F(Turing, RefusesProductsOfBf16AndSaysWhatHelps) {
  const auto options = TensorOptions(kBFloat16).device(kCUDA);
  const Tensor x = ones({4, 8}, options), image = ones({1, 8, 6, 6}, options), kernel = ones({8, 8, 3, 3}, options);
  EXPECT_THROWS(matmul(x, x.t()), NotImplementedError, "matmul: ", "compute capability 8.0", "emulated has 7.5",
                "use f16", "GradScaler");
  EXPECT_THROWS(linear(x, x), NotImplementedError, "linear: ", "compute capability 8.0", "use f16");
  EXPECT_THROWS(conv2d(image, kernel), NotImplementedError, "conv2d: ", "compute capability 8.0", "use f16");
  EXPECT_THROWS(conv2d(image, kernel.slice(2, 0, 1).slice(3, 0, 1)), NotImplementedError, "conv2d: ");
  {
    const amp::AutocastGuard autocast(kCUDA, kBFloat16);
    const Tensor wide = ones({4, 8}, kCUDA);
    EXPECT_THROWS(matmul(wide, wide.t()), NotImplementedError, "matmul: ", "use f16");
  }
  EXPECT_EQ((x + x).exp().sum(1).dtype(), kBFloat16) << "other ops work";
}

TEST_F(Turing, AttentionWorksWithoutTensorCores) {
  manual_seed(1);
  const Tensor q = randn({2, 3, 40, 16}, kCUDA), k = randn({2, 3, 40, 16}, kCUDA), v = randn({2, 3, 40, 16}, kCUDA);
  const Tensor expected = scaled_dot_product_attention(q, k, v);
  const Tensor y = scaled_dot_product_attention(q.to(kHalf), k.to(kHalf), v.to(kHalf));
  EXPECT_EQ(y.dtype(), kHalf);
  EXPECT_LT((y.to(kFloat) - expected).abs().max().item<float>(), 0x1p-8f);  // 8 ulps of results below 1
}

TEST_F(Turing, AutocastTrainsInF16) {
  EXPECT_EQ(amp::get_autocast_dtype(kCUDA), kHalf);
  manual_seed(1);
  nn::Sequential model(nn::Conv2d(nn::Conv2dOptions(1, 8, 3)), nn::ReLU(), nn::Flatten(), nn::Linear(8 * 6 * 6, 4));
  model->to(kCUDA);
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1));
  amp::GradScaler scaler;
  const Tensor x = randn({8, 1, 8, 8}, kCUDA), target = arange(8, TensorOptions(kLong).device(kCUDA)).remainder(4);
  std::vector<float> losses;
  for (int i = 0; i < 8; ++i) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(kCUDA);
      const Tensor y = model->forward(x);
      EXPECT_EQ(y.dtype(), kHalf);
      loss = cross_entropy(y, target);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    losses.push_back(loss.item<float>());
  }
  EXPECT_LT(losses.back(), losses.front());
}

}  // namespace
}  // namespace tandem::cuda
