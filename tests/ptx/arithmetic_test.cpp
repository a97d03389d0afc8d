// Instructions that compute, against the host's arithmetic, over edges and random values in 32 lanes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ptx/formats.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

/// A warp with registers for one instruction: result 0, sources from 1 on.
struct OneInstruction {
  std::vector<Row> constants, values = std::vector<Row>(6);
  Warp warp{constants, values, std::vector<Lanes>(6, ~Lanes{0}), std::vector<Lanes>(4),
            std::vector<Lanes>(4, ~Lanes{0})};
  Instruction instruction;

  OneInstruction(const std::string& text, size_t sources, uint8_t result_bytes) {
    const auto value = [](size_t n, uint8_t bytes) {
      return Operand{Operand::value, false, bytes, static_cast<uint32_t>(n)};
    };
    instruction.to = {value(0, result_bytes)};
    for (size_t n = 1; n <= sources; ++n) instruction.from.push_back(value(n, 8));
    Opcode op(text);
    const bool known = decode_carry(op, instruction) || decode_integer(op, instruction) ||
                       decode_float(op, instruction) || decode_convert(op, instruction) ||
                       decode_compare(op, instruction);
    EXPECT_TRUE(known && instruction.run) << text;
    EXPECT_EQ(op.left(), "") << text;
  }
  void run() { instruction.run(warp, instruction, ~Lanes{0}); }
};

template <class T>
T any(std::mt19937_64& random) {
  if (random() % 4) return as<T>(random());
  constexpr T edges[] = {T(0),
                         T(1),
                         T(-1),
                         std::numeric_limits<T>::max(),
                         std::numeric_limits<T>::lowest(),
                         std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::infinity(),
                         T(0.5)};
  return edges[random() % std::size(edges)];
}

/// Runs the instruction on 3,200 values of each source and compares its result with f's, NaN with NaN.
template <class R, class T, class F>
void expect_same(const std::string& text, size_t sources, const F& f) {
  std::mt19937_64 random(7);
  OneInstruction one(text, sources, sizeof(R));
  for (int round = 0; round < 100; ++round) {
    for (size_t n = 1; n <= 3; ++n) {
      for (uint64_t& x : one.values[n]) x = in_register(any<T>(random), sizeof(T));
    }
    one.run();
    for (size_t l = 0; l < kLanes; ++l) {
      const T a = as<T>(one.values[1][l]), b = as<T>(one.values[2][l]), c = as<T>(one.values[3][l]);
      const R wanted = f(a, b, c), got = as<R>(one.values[0][l]);
      if constexpr (std::is_floating_point_v<R>) {
        if (std::isnan(wanted) && std::isnan(got)) continue;
      }
      ASSERT_EQ(std::memcmp(&wanted, &got, sizeof(R)), 0)
          << text << " of " << +a << ", " << +b << ", " << +c << " is " << +got << ", not " << +wanted;
    }
  }
}

template <class T>
T wrap(int128 x) {
  return static_cast<T>(x);
}

TEST(PtxArithmetic, IntegersWrapAround) {
  const auto all = [](const std::string& type, auto zero) {
    using T = decltype(zero);
    const auto wide = [](T x) { return int128{x}; };
    expect_same<T, T>("add" + type, 2, [&](T a, T b, T) { return wrap<T>(wide(a) + wide(b)); });
    expect_same<T, T>("sub" + type, 2, [&](T a, T b, T) { return wrap<T>(wide(a) - wide(b)); });
    expect_same<T, T>("mul.lo" + type, 2, [&](T a, T b, T) { return wrap<T>(wide(a) * wide(b)); });
    expect_same<T, T>("mul.hi" + type, 2, [&](T a, T b, T) { return wrap<T>((wide(a) * wide(b)) >> 8 * sizeof(T)); });
    expect_same<T, T>("mad.lo" + type, 3, [&](T a, T b, T c) { return wrap<T>(wide(a) * wide(b) + wide(c)); });
    expect_same<T, T>("min" + type, 2, [](T a, T b, T) { return std::min(a, b); });
    expect_same<T, T>("max" + type, 2, [](T a, T b, T) { return std::max(a, b); });
    expect_same<T, T>("div" + type, 2,
                      [&](T a, T b, T) { return b ? wrap<T>(wide(a) / wide(b)) : static_cast<T>(-1); });
    expect_same<T, T>("rem" + type, 2, [&](T a, T b, T) { return b ? wrap<T>(wide(a) % wide(b)) : a; });
  };
  all(".s32", int32_t{});
  all(".u32", uint32_t{});
  all(".s16", int16_t{});
  all(".u16", uint16_t{});
  all(".s64", int64_t{});
}

TEST(PtxArithmetic, Bits) {
  using T = uint32_t;
  expect_same<T, T>("and.b32", 2, [](T a, T b, T) { return a & b; });
  expect_same<T, T>("or.b32", 2, [](T a, T b, T) { return a | b; });
  expect_same<T, T>("xor.b32", 2, [](T a, T b, T) { return a ^ b; });
  expect_same<T, T>("not.b32", 1, [](T a, T, T) { return ~a; });
  expect_same<T, T>("shl.b32", 2, [](T a, T b, T) { return b > 31 ? 0 : a << b; });
  expect_same<T, T>("shr.u32", 2, [](T a, T b, T) { return b > 31 ? 0 : a >> b; });
  expect_same<int32_t, int32_t>("shr.s32", 2,
                                [](int32_t a, int32_t b, int32_t) { return a >> std::min(static_cast<T>(b), 31u); });
  expect_same<T, T>("clz.b32", 1, [](T a, T, T) { return static_cast<T>(std::countl_zero(a)); });
  expect_same<T, T>("popc.b32", 1, [](T a, T, T) { return static_cast<T>(std::popcount(a)); });
}

TEST(PtxArithmetic, FloatsRoundAsAsked) {
  const auto all = [](const std::string& type, auto zero) {
    using T = decltype(zero);
    expect_same<T, T>("add.rn" + type, 2, [](T a, T b, T) { return a + b; });
    expect_same<T, T>("mul" + type, 2, [](T a, T b, T) { return a * b; });
    expect_same<T, T>("div.rn" + type, 2, [](T a, T b, T) { return a / b; });
    expect_same<T, T>("fma.rn" + type, 3, [](T a, T b, T c) { return std::fma(a, b, c); });
    expect_same<T, T>("sqrt.rn" + type, 1, [](T a, T, T) { return std::sqrt(a); });
    expect_same<T, T>("abs" + type, 1, [](T a, T, T) { return std::fabs(a); });
    expect_same<T, T>("copysign" + type, 2, [](T a, T b, T) { return std::copysign(b, a); });
  };
  all(".f32", 0.0f);
  all(".f64", 0.0);
  // A product of two f32 numbers is exact in f64, so its directed roundings follow from the formats'.
  for (const auto& [suffix, mode] : {std::pair("rz", Rounding::zero), {"rm", Rounding::down}, {"rp", Rounding::up}}) {
    expect_same<float, float>("mul." + std::string(suffix) + ".f32", 2, [mode = mode](float a, float b, float) {
      return static_cast<float>(rounded(static_cast<double>(a) * static_cast<double>(b), kF32, mode));
    });
  }
}

TEST(PtxArithmetic, ConversionsToIntegersSaturate) {
  expect_same<int32_t, float>("cvt.rzi.s32.f32", 1, [](float a, float, float) {
    if (std::isnan(a)) return 0;
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : static_cast<int32_t>(a);
  });
  expect_same<uint64_t, double>("cvt.rni.u64.f64", 1, [](double a, double, double) {
    if (std::isnan(a)) return uint64_t{1} << 63;
    const double whole = std::nearbyint(a);
    return whole >= 0x1p64 ? ~uint64_t{0} : whole <= 0 ? 0 : static_cast<uint64_t>(whole);
  });
  expect_same<float, double>("cvt.rn.f32.f64", 1, [](double a, double, double) { return static_cast<float>(a); });
}

// Every code of f16 and of bf16 is its own value; halfway cases go to even, and other directions to a neighbour.
TEST(PtxFormats, CodesAndRoundingsOf16Bits) {
  for (const Format& format : {kF16, kBf16}) {
    for (int code = 0; code < 0x10000; ++code) {
      const auto c = static_cast<uint16_t>(code);
      const double x = value_of(c, format);
      if (std::isnan(x)) continue;
      EXPECT_EQ(code_of(x, format), c);
      if (std::isinf(x) || std::signbit(x)) continue;
      const double next = value_of(static_cast<uint16_t>(code + 1), format);
      if (!std::isfinite(next)) continue;
      const double middle = (x + next) / 2;
      EXPECT_EQ(rounded(middle, format, Rounding::nearest), code % 2 ? next : x);
      EXPECT_EQ(rounded(middle, format, Rounding::zero), x);
      EXPECT_EQ(rounded(middle, format, Rounding::up), next);
      EXPECT_EQ(rounded(-middle, format, Rounding::down), -next);
    }
  }
  for (int code = 0; code < 0x10000; ++code) {  // bf16 is the upper half of f32
    const double x = value_of(static_cast<uint16_t>(code), kBf16);
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
    if (std::isnan(f)) continue;
    EXPECT_EQ(x, static_cast<double>(f));
  }
}

// What one source decides alone does not depend on the other: nvcc reads registers that it then does not use.
TEST(PtxArithmetic, UndefinedValuesPropagate) {
  OneInstruction sum("add.s32", 2, 4), both("and.b32", 2, 4);
  for (OneInstruction* one : {&sum, &both}) {
    one->values[1].fill(0);
    one->values[2].fill(5);
    one->warp.defined[2] = 0xff;
    one->run();
  }
  EXPECT_EQ(sum.warp.defined[0], 0xffu);
  EXPECT_EQ(both.warp.defined[0], ~0u);
}

}  // namespace
}  // namespace tandem::ptx
