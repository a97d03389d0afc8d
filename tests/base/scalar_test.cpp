// Scalar keeps the category of the number that it was constructed from.
#include "tandem/base/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace tandem {
namespace {

TEST(Scalar, KeepsTheCategory) {
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

TEST(Scalar, TakesEnumeratorsAsIntegersAndNoPointers) {
  enum { kClasses = 10 };
  EXPECT_EQ(Scalar(kClasses).to_int64(), int64_t{kClasses});
  EXPECT_TRUE(Scalar(kClasses).is_integral());
  static_assert(!std::is_constructible_v<Scalar, const char*> && !std::is_constructible_v<Scalar, int*>);
  static_assert(!std::is_constructible_v<Scalar, int64_t (Scalar::*)() const>);
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

TEST(Scalar, FitsComparesWithTheRangeOfADtype) {
  const double nan = std::nan(""), inf = INFINITY;
  for (DType t : {kHalf, kBFloat16, kFloat, kDouble})
    EXPECT_TRUE(Scalar(nan).fits(t) && Scalar(-inf).fits(t)) << name(t);
  for (DType t : {kByte, kChar, kShort, kInt, kLong})
    EXPECT_FALSE(Scalar(nan).fits(t) || Scalar(inf).fits(t)) << name(t);
  EXPECT_TRUE(Scalar(65504).fits(kHalf) && Scalar(0x1.fep127).fits(kBFloat16) && Scalar(0x1.fffffep127).fits(kFloat));
  EXPECT_FALSE(Scalar(65505).fits(kHalf) || Scalar(0x1.ffp127).fits(kBFloat16) || Scalar(1e39).fits(kFloat));
  EXPECT_TRUE(Scalar(127).fits(kChar) && Scalar(-128).fits(kChar) && Scalar(255).fits(kByte) && Scalar(-1).fits(kByte));
  EXPECT_FALSE(Scalar(128).fits(kChar) || Scalar(-129).fits(kChar) || Scalar(256).fits(kByte) ||
               Scalar(-256).fits(kByte));
  EXPECT_TRUE(Scalar(INT64_MAX).fits(kLong) && Scalar(-0x1p63).fits(kLong) && Scalar(7).fits(kBool));
  EXPECT_FALSE(Scalar(0x1p63).fits(kLong) || Scalar(int64_t{1} << 31).fits(kInt));
}

}  // namespace
}  // namespace tandem
