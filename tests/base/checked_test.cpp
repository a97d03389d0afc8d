// Arithmetic on sizes that keeps track of overflow.
#include "tandem/base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

TEST(Checked, MatchesInt64Arithmetic) {
  EXPECT_EQ((Checked(3) * 4 + 5 - 2).value(), 15);
  EXPECT_EQ((2 * Checked(3) + 1).value(), 7);
  EXPECT_EQ((Checked(kMost) - 1).value(), kMost - 1);
  EXPECT_EQ((Checked(kLeast) + kMost).value(), -1);
  Checked product = 1;
  product *= 6;
  product += 1;
  product -= 2;
  EXPECT_EQ(product.value_or(-1), 5);
}

TEST(Checked, OverflowIsSticky) {
  EXPECT_FALSE((Checked(kMost) + 1).fits());
  EXPECT_FALSE((Checked(kLeast) - 1).fits());
  EXPECT_FALSE((Checked(int64_t{1} << 32) * (int64_t{1} << 31)).fits());
  EXPECT_FALSE((Checked(kMost) + 1 - 1).fits());  // although the result would fit
  EXPECT_FALSE((Checked(kMost) * 2 * 0).fits());
  EXPECT_FALSE((Checked(1) + (Checked(kMost) + 1)).fits());
  EXPECT_EQ((Checked(kMost) * 2).value(), std::nullopt);
  EXPECT_EQ((Checked(kMost) * 2).value_or(7), 7);
}

TEST(Checked, ComparesFalseAfterAnOverflow) {
  const Checked lost = Checked(kMost) + 1;
  EXPECT_FALSE(lost <= kMost);
  EXPECT_FALSE(lost >= kLeast);
  EXPECT_FALSE(lost == Checked(kLeast));
  EXPECT_TRUE(Checked(2) <= 2);
  EXPECT_TRUE(Checked(3) >= 2);
  EXPECT_TRUE(Checked(3) == 3);
  EXPECT_EQ(to_string(Checked(12)), "12");
  EXPECT_EQ(to_string(lost), "over 2^63");
}

}  // namespace
}  // namespace tandem
