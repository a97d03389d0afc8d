// Scalar keeps the category of the number that it was made from.
#include "tandem/base/scalar.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Scalar, RemembersTheCategory) {
  EXPECT_EQ(Scalar(true).kind(), kBool);
  EXPECT_EQ(Scalar(3).kind(), kLong);
  EXPECT_EQ(Scalar(uint8_t{3}).kind(), kLong);
  EXPECT_EQ(Scalar(2.5F).kind(), kDouble);
  EXPECT_EQ(Scalar(Half(2.5F)).kind(), kDouble);
  EXPECT_EQ(Scalar(BFloat16(2.5F)).kind(), kDouble);
  EXPECT_TRUE(Scalar().is_integral());
  EXPECT_TRUE(Scalar(false).is_boolean());
  EXPECT_TRUE(Scalar(1.0).is_floating_point());
}

TEST(Scalar, Converts) {
  EXPECT_EQ(Scalar(INT64_MAX).to_int64(), INT64_MAX);
  EXPECT_EQ(Scalar(INT64_MIN).to<int64_t>(), INT64_MIN);
  EXPECT_EQ(Scalar(3.75).to_int64(), 3);
  EXPECT_EQ(Scalar(-3.75).to<int>(), -3);
  EXPECT_EQ(Scalar(3).to_double(), 3.0);
  EXPECT_EQ(Scalar(true).to<float>(), 1.0F);
  EXPECT_EQ(Scalar(2).to<bool>(), true);
  EXPECT_EQ(Scalar(0.1).to<Half>().bits, Half(0.1F).bits);
  EXPECT_EQ(static_cast<float>(Scalar(Half(0.5F)).to<BFloat16>()), 0.5F);
}

}  // namespace
}  // namespace tandem
