// f16 and bf16 conversions of every bit pattern and every midpoint between neighbours, against arithmetic in double.
#include "tandem/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns the value of a bit pattern, from the definition of the format.
double value_of(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000U ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? std::nan("") : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class T>
struct Format;
template <>
struct Format<Half> {
  static constexpr int exponent_bits = 5, mantissa_bits = 10;
};
template <>
struct Format<BFloat16> {
  static constexpr int exponent_bits = 8, mantissa_bits = 7;
};

template <class T>
class HalfTest : public ::testing::Test {};
using HalfTypes = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfTest, HalfTypes);

TYPED_TEST(HalfTest, EveryBitPatternRoundTrips) {
  using F = Format<TypeParam>;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = TypeParam::from_bits(static_cast<uint16_t>(bits));
    const double expected = value_of(bits, F::exponent_bits, F::mantissa_bits);
    const uint16_t back = TypeParam(value).bits;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(back, bits | 1U << (F::mantissa_bits - 1)) << "became quiet and kept sign and payload";
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000U) != 0) << bits;
      ASSERT_EQ(back, bits);
    }
  }
}

TYPED_TEST(HalfTest, RoundsToNearestEven) {
  using F = Format<TypeParam>;
  const unsigned infinity = ((1U << F::exponent_bits) - 1) << F::mantissa_bits;
  for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
    const double low = value_of(bits, F::exponent_bits, F::mantissa_bits);
    const double high = value_of(bits + 1, F::exponent_bits, F::mantissa_bits);
    const float middle = static_cast<float>((low + high) / 2);  // exact: a float has more bits
    ASSERT_EQ(middle, (low + high) / 2);
    for (unsigned sign : {0U, 0x8000U}) {
      const float s = sign ? -1.0F : 1.0F;
      ASSERT_EQ(TypeParam(s * middle).bits, sign | (bits % 2 == 0 ? bits : bits + 1)) << bits;
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, 0.0F)).bits, sign | bits) << bits;
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, kInfinity)).bits, sign | (bits + 1)) << bits;
    }
  }
}

TYPED_TEST(HalfTest, NanKeepsItsUpperBits) {
  using F = Format<TypeParam>;
  const unsigned infinity = ((1U << F::exponent_bits) - 1) << F::mantissa_bits, quiet = 1U << (F::mantissa_bits - 1);
  for (unsigned bits = 0x7f800001U; bits < 0x80000000U; bits += 997) {
    const unsigned payload = (bits & 0x7fffffU) >> (23 - F::mantissa_bits);
    ASSERT_EQ(TypeParam(std::bit_cast<float>(bits)).bits, infinity | quiet | payload) << bits;
    ASSERT_EQ(TypeParam(std::bit_cast<float>(bits | 0x80000000U)).bits, 0x8000U | infinity | quiet | payload) << bits;
  }
}

TEST(Half, OverflowBeginsAt65520) {
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65519.99F).bits, 0x7bff);
  EXPECT_EQ(Half(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half(-65520.0F).bits, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(Half(kInfinity).bits, 0x7c00);
}

TEST(Half, SubnormalsAreRoundedToNearestEven) {
  EXPECT_EQ(Half(0x1p-24F).bits, 1);
  EXPECT_EQ(Half(0x1.8p-24F).bits, 2);  // a tie: rounds to even
  EXPECT_EQ(Half(0x1p-25F).bits, 0);    // a tie: rounds to even
  EXPECT_EQ(Half(0x1.000002p-25F).bits, 1);
  EXPECT_EQ(Half(-0x1p-26F).bits, 0x8000);
  EXPECT_EQ(Half(0x1.ff8p-15F).bits, 0x3ff);  // the largest subnormal
  EXPECT_EQ(Half(0x1.ffcp-15F).bits, 0x400);  // a tie between it and the smallest normal number
  EXPECT_EQ(Half(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(BFloat16, OverflowSubnormalsAndNan) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);  // rounds up to infinity
  EXPECT_EQ(BFloat16(0x1.fep127F).bits, 0x7f7f);
  EXPECT_EQ(BFloat16(0x1.fefffep127F).bits, 0x7f7f);
  EXPECT_EQ(BFloat16(0x1.ffp127F).bits, 0x7f80);
  EXPECT_EQ(BFloat16(0x1p-133F).bits, 1);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7f800001U)).bits, 0x7fc0);  // a NaN whose set bits would be truncated
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0xffffffffU)).bits, 0xffff);
}

TEST(Half, ConversionsAreConstexpr) {
  static_assert(Half(1.0F).bits == 0x3c00 && static_cast<float>(Half::from_bits(0x3555)) == 0x1.554p-2F);
  static_assert(BFloat16(1.0F).bits == 0x3f80 && static_cast<float>(BFloat16(-2.0F)) == -2.0F);
}

}  // namespace
}  // namespace tandem
