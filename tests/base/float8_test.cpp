// Conversions of single numbers to and from float8, against PyTorch's casts and against the definition.
#include "tandem/base/float8.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tandem/base/dtype.h"
#include "tandem/math/philox.h"

namespace tandem {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// The inputs of tests/golden/float8.py.
std::vector<float> f32_inputs() {
  std::vector<float> x(10'000'000);
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t bits = static_cast<uint32_t>(i * 2654435761u);
    if (i % 2 == 1) bits = (bits & 0x807fffffu) | ((((bits >> 23) & 63u) + 90u) << 23);
    x[i] = std::bit_cast<float>(bits);
  }
  return x;
}

template <class T>
std::vector<float> all_of() {
  std::vector<float> x(1 << 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = T::from_bits(static_cast<uint16_t>(i ^ 0x8000u));  // from -2^15 on
  return x;
}

const std::vector<float>& inputs(DType source) {
  static const std::vector<float> f32 = f32_inputs(), f16 = all_of<Half>(), bf16 = all_of<BFloat16>();
  return source == kFloat ? f32 : source == kHalf ? f16 : bf16;
}

template <class T>
uint32_t checksum_of_casts(DType source) {
  std::vector<uint8_t> codes;
  for (const float x : inputs(source)) codes.push_back(T(x).bits);
  return static_cast<uint32_t>(crc32(0, codes.data(), static_cast<unsigned>(codes.size())));
}

/// The values of the codes, with one NaN for all.
template <class T>
std::vector<uint32_t> values_of_codes() {
  std::vector<uint32_t> bits;
  for (int code = 0; code < 256; ++code) {
    const float x = T::from_bits(static_cast<uint8_t>(code));
    bits.push_back(std::bit_cast<uint32_t>(std::isnan(x) ? kNan : x));
  }
  return bits;
}

TEST(Float8, EqualsPyTorch) {
#define CODES(TYPE, ...) \
  EXPECT_EQ(values_of_codes<DTypeToCpp<DType::TYPE>::type>(), (std::vector<uint32_t>{__VA_ARGS__})) << #TYPE;
#define CASTS(TYPE, SOURCE, CRC) \
  EXPECT_EQ(checksum_of_casts<DTypeToCpp<DType::TYPE>::type>(DType::SOURCE), CRC) << #TYPE " of " #SOURCE;
#include "golden/float8.inc"
#undef CODES
#undef CASTS
}

template <class Format>
class Float8Formats : public ::testing::Test {};
using Formats = ::testing::Types<detail::E4m3fn, detail::E5m2>;
TYPED_TEST_SUITE(Float8Formats, Formats);

TYPED_TEST(Float8Formats, OverflowByName) {
  using Format = TypeParam;
  const float largest = Format::widen(static_cast<uint8_t>(Format::kLargest));
  const float step = largest - Format::widen(static_cast<uint8_t>(Format::kLargest - 1));
  const float tie = largest + step / 2;
  for (const float sign : {1.0f, -1.0f}) {
    for (const float x : {std::nextafter(tie, kInf), 2 * largest, 3e38f, kInf}) {
      EXPECT_EQ(Format::widen(Format::round(sign * x, Float8Overflow::saturate)), sign * largest) << x;
      const float beyond = Format::widen(Format::round(sign * x, Float8Overflow::overflow));
      if (Format::kInf == Format::kNan) {
        EXPECT_TRUE(std::isnan(beyond)) << x;
      } else {
        EXPECT_EQ(beyond, sign * kInf) << x;
      }
    }
    for (const Float8Overflow rule : {Float8Overflow::saturate, Float8Overflow::overflow}) {
      EXPECT_EQ(Format::widen(Format::round(sign * std::nextafter(tie, 0.0f), rule)), sign * largest);
      EXPECT_TRUE(std::isnan(Format::widen(Format::round(sign * kNan, rule))));
    }
  }
}

/// A number between two neighbours goes to the upper one with the probability of its distance from the lower one.
TYPED_TEST(Float8Formats, StochasticRounding) {
  using Format = TypeParam;
  constexpr uint32_t kDraws = 40000;
  for (uint8_t code = 0; code < Format::kLargest; code = static_cast<uint8_t>(code + 3)) {
    const float low = Format::widen(code), high = Format::widen(static_cast<uint8_t>(code + 1));
    for (const float part : {0.0f, 0.125f, 0.7f}) {
      const float x = low + part * (high - low);
      uint32_t ups = 0;
      for (uint32_t i = 0; i < kDraws; ++i) {
        const uint32_t random = math::philox(1, i / 4, 0).lane[i % 4];
        const uint8_t rounded = Format::round_stochastically(x, random);
        ASSERT_TRUE(rounded == code || rounded == code + 1) << x;
        ASSERT_EQ(Format::round_stochastically(-x, random), rounded | 0x80);
        ups += rounded != code;
      }
      const double expected = (static_cast<double>(x) - low) / (static_cast<double>(high) - low);
      EXPECT_NEAR(ups / static_cast<double>(kDraws), expected, 4 * std::sqrt(expected * (1 - expected) / kDraws)) << x;
    }
  }
  EXPECT_EQ(Format::round_stochastically(1e-30f, 0xffffffffu), 0);  // a chance below 2^-32
  EXPECT_EQ(Format::round_stochastically(kInf, 0, Float8Overflow::saturate), Format::kLargest);
  EXPECT_EQ(Format::round_stochastically(kInf, 0, Float8Overflow::overflow), Format::kInf);
  EXPECT_TRUE(std::isnan(Format::widen(Format::round_stochastically(kNan, 0xffffffffu))));
}

}  // namespace
}  // namespace tandem
