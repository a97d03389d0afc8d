#include "kernels/cuda/weight_gradient_way.h"

#include <gtest/gtest.h>

namespace tandem::cuda {
namespace {

/// Of a k x k convolution of images of 56 x 56 pixels that keeps their size.
bool columns_pay(int64_t channels, int64_t outputs, int64_t k, int major) {
  const WeightGradientCosts costs =
      weight_gradient_costs({64, channels, 56, 56}, {outputs, channels, k, k}, {64, outputs, 56, 56}, major);
  return costs.columns < costs.widened;
}

TEST(WeightGradientWay, FollowsTheCosts) {
  EXPECT_TRUE(columns_pay(256, 64, 1, 9)) << "1x1: the image is the columns";
  EXPECT_FALSE(columns_pay(64, 64, 3, 9)) << "columns are written and read for few flops";
  EXPECT_TRUE(columns_pay(420, 1000, 3, 9)) << "the flops at half the rate cost more";
  EXPECT_TRUE(columns_pay(64, 64, 3, 7)) << "no TF32";
  EXPECT_TRUE(columns_pay(1, 64, 3, 9)) << "the columns of one channel are smaller than the widened gradient";
}

TEST(WeightGradientWay, ColumnsPayFromSomeNumberOfOutputsOn) {
  bool paid = false;
  for (int64_t outputs = 8; outputs <= 2048; outputs += 8) {
    const bool pays = columns_pay(256, outputs, 3, 9);
    EXPECT_TRUE(pays || !paid) << outputs;
    paid = pays;
  }
  EXPECT_TRUE(paid);
}

}  // namespace
}  // namespace tandem::cuda
