// Philox against the known answers published by Random123, and the numbers derived from it.
#include "tandem/math/philox.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

using math::PhiloxBlock;

void expect_block(const PhiloxBlock& got, std::initializer_list<uint32_t> want) {
  int l = 0;
  for (uint32_t w : want) EXPECT_EQ(got.lane[l++], w);
}

// The three lines 'philox4x32 10' of tests/kat_vectors in Random123 (D. E. Shaw Research), version 1.14.0:
// counter, key, result.
TEST(Philox, KnownAnswers) {
  expect_block(math::philox_4x32_10({{0, 0, 0, 0}}, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expect_block(math::philox_4x32_10({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u),
               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect_block(math::philox_4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Philox, SeedIsKeyAndPositionIsCounter) {
  const PhiloxBlock want = math::philox_4x32_10({{0x9abcdef0, 0x12345678, 1, 0}}, 0x89abcdef, 0x01234567);
  const PhiloxBlock got = math::philox(0x0123456789abcdef, 0x123456789abcdef0, 1);
  for (int l = 0; l < 4; ++l) EXPECT_EQ(got.lane[l], want.lane[l]);
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(math::uniform_f32(0), 0.0f);
  EXPECT_EQ(math::uniform_f32(~0u), 1.0f - 0x1p-24f);
  EXPECT_EQ(math::uniform_f64(0, 0), 0.0);
  EXPECT_EQ(math::uniform_f64(~0u, ~0u), 1.0 - 0x1p-53);
  // Both use the same upper bits, so f32 and f64 streams agree.
  EXPECT_NEAR(math::uniform_f32(0x89abcdef), math::uniform_f64(0x89abcdef, 0x01234567), 0x1p-24);
}

TEST(Philox, BernoulliThreshold) {
  EXPECT_EQ(math::bernoulli_threshold(0), 0u);
  EXPECT_EQ(math::bernoulli_threshold(1), 1u << 24);
  for (double p : {0.5, 0.1, 0.3, 1e-9, 1 - 1e-9}) {
    const uint32_t t = math::bernoulli_threshold(p);
    EXPECT_GE(t * 0x1p-24, p);
    EXPECT_LT((t - 1.0) * 0x1p-24, p);
  }
}

TEST(Philox, MultiplyHigh) {
  const uint64_t values[] = {0, 1, 0xffffffffu, 0x100000000u, 0x123456789abcdef0u, ~uint64_t{0}, uint64_t{1} << 63};
  for (uint64_t a : values) {
    for (uint64_t b : values) {
      __extension__ using Wide = unsigned __int128;
      const auto want = static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
      EXPECT_EQ(math::multiply_high(a, b), want) << a << " * " << b;
    }
  }
}

TEST(Philox, IntegersCoverTheirRange) {
  EXPECT_EQ(math::random_integer(0, 0, -5, 10), -5);
  EXPECT_EQ(math::random_integer(~0u, ~0u, -5, 10), 4);
}

TEST(Philox, NormalIsFinite) {
  float z0, z1;
  math::normal_f32(0, 0, z0, z1);
  EXPECT_NEAR(z0, 6.66f, 0.01f);  // the largest possible value, sqrt(-2 log 2^-32)
  EXPECT_EQ(z1, 0.0f);
  math::normal_f32(~0u, 0, z0, z1);
  EXPECT_EQ(z0, 0.0f);
}

}  // namespace
}  // namespace tandem
