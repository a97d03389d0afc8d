// Splitting an f32 number into two halves: every bf16 number with remainders at the rounding boundaries; random bits.
#include "tandem/math/split_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tandem/base/half.h"

namespace tandem {
namespace {

float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

void expect_exact(uint32_t bits) {
  const float x = float_of(bits);
  const math::SplitFloat halves = math::split_float(x);
  const float back = math::join_float(halves), rounded = float_of(static_cast<uint32_t>(halves.rounded) << 16);
  if (std::isnan(x)) {
    ASSERT_TRUE(std::isnan(back) && std::isnan(rounded)) << std::hex << bits;
    ASSERT_EQ(std::signbit(back), std::signbit(x));
    return;
  }
  ASSERT_EQ(std::bit_cast<uint32_t>(back), bits) << std::hex << bits;
  const float even = static_cast<float>(BFloat16(x));
  if ((bits & 0xffff) == 0x8000) {  // a tie: rounds away from zero
    ASSERT_GT(std::abs(rounded), std::abs(x));
    ASSERT_TRUE(rounded == even || std::abs(even) < std::abs(x));
  } else {
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded), std::bit_cast<uint32_t>(even)) << std::hex << bits;
  }
}

TEST(SplitFloat, IsExactAroundEveryBFloat16) {
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (const uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) expect_exact(high << 16 | low);
  }
}

TEST(SplitFloat, IsExactForRandomBits) {
  uint32_t bits = 1;
  for (int i = 0; i < 1000000; ++i) expect_exact(bits = bits * 1664525u + 1013904223u);
}

}  // namespace
}  // namespace tandem
