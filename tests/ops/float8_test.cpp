// cast_float8 against the formulas of base/float8.h, which tests/base/float8_test.cpp compares with PyTorch.
#include "tandem/ops/float8.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "support/device.h"
#include "tandem/math/philox.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> floats_of(const Tensor& x) {
  const Tensor host = x.to(kFloat).contiguous().to(kCPU);
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}
std::vector<uint8_t> codes_of(const Tensor& x) {
  const Tensor host = x.view(kByte).contiguous().to(kCPU);
  return {host.data_ptr<uint8_t>(), host.data_ptr<uint8_t>() + host.numel()};
}

/// Numbers within, around and beyond the range of both formats.
Tensor numbers(int64_t n) {
  const Tensor x = randn({n}, Generator(3));
  return mul(x, exp(mul(randn({n}, Generator(4)), 6)));
}

uint8_t round(DType t, float x, Float8Overflow rule) {
  return t == kFloat8_e4m3fn ? detail::E4m3fn::round(x, rule) : detail::E5m2::round(x, rule);
}

TEST(CastFloat8, RoundsByNameInEveryDtypeAndLayout) {
  for (const DType t : {kFloat8_e4m3fn, kFloat8_e5m2}) {
    for (const DType from : {kFloat, kHalf, kBFloat16, kDouble}) {
      const Tensor x = numbers(3 * 700).to(from).reshape({3, 700});
      for (const Tensor& in : {x, x.t(), x.slice(1, 1, 600, 3)}) {
        const std::vector<float> values = floats_of(in);
        for (const Float8Overflow rule : {Float8Overflow::saturate, Float8Overflow::overflow}) {
          const Tensor y = cast_float8(in, t, Float8CastOptions().overflow(rule));
          ASSERT_EQ(y.dtype(), t);
          std::vector<uint8_t> want;
          for (const float v : values) want.push_back(round(t, v, rule));
          EXPECT_EQ(codes_of(y), want) << name(t) << ' ' << name(from);
        }
        EXPECT_EQ(codes_of(cast_float8(in, t)), codes_of(in.to(t)));
      }
    }
  }
  EXPECT_EQ(codes_of(cast_float8(tensor({kInf, -kInf, 1e9f, kNan}), kFloat8_e4m3fn)),
            (std::vector<uint8_t>{0x7e, 0xfe, 0x7e, 0x7f}));
  EXPECT_EQ(cast_float8(ones({0, 3}), kFloat8_e5m2).sizes(), IntArrayRef({0, 3}));
}

TEST(CastFloat8, StochasticRoundingUsesThePhiloxStream) {
  const Tensor x = numbers(2 * 801).reshape({2, 801});
  for (const Tensor& in : {x, x.t()}) {
    Generator generator(7);
    const auto options = Float8CastOptions().stochastic(true).generator(generator);
    const std::vector<uint8_t> codes = codes_of(cast_float8(in, kFloat8_e5m2, options));
    const std::vector<float> values = floats_of(in);
    for (size_t i = 0; i < codes.size(); ++i) {
      const uint32_t lane = math::philox(7, i / 4, 0).lane[i % 4];
      EXPECT_EQ(codes[i], detail::E5m2::round_stochastically(values[i], lane)) << i;
    }
    EXPECT_NE(codes_of(cast_float8(in, kFloat8_e5m2, options)), codes);  // the next numbers of the stream
  }
  // On average x, which rounding to nearest is not.
  const Tensor third = full({100000}, 1.1);
  const Tensor drawn = cast_float8(third, kFloat8_e4m3fn, Float8CastOptions().stochastic(true));
  EXPECT_NEAR(drawn.to(kFloat).mean().item<double>(), 1.1, 1e-3);
  EXPECT_EQ(third.to(kFloat8_e4m3fn).to(kFloat).mean().item<double>(), 1.125);
}

TEST(CastFloat8, ScalesAndFindsTheLargestMagnitude) {
  for (const DType from : {kFloat, kBFloat16, kDouble}) {
    const Tensor x = numbers(5000).to(from), scale = full({1}, 0.37f), amax = full({}, 2.0f);
    const std::vector<float> values = floats_of(x);
    const auto options = Float8CastOptions().scale(scale).amax(amax);
    const std::vector<uint8_t> codes = codes_of(cast_float8(x, kFloat8_e4m3fn, options));
    float largest = 2;
    for (size_t i = 0; i < codes.size(); ++i) {
      EXPECT_EQ(codes[i], detail::E4m3fn::round(values[i] * 0.37f));
      largest = std::fmax(largest, std::fabs(values[i]));
    }
    EXPECT_EQ(amax.item<float>(), largest);
    cast_float8(full({3}, 1.0, from), kFloat8_e4m3fn, options);
    EXPECT_EQ(amax.item<float>(), largest);
    cast_float8(tensor({-kInf}).to(from), kFloat8_e4m3fn, options);
    EXPECT_EQ(amax.item<float>(), kInf);
    cast_float8(tensor({1.0f, kNan}).to(from), kFloat8_e4m3fn, options);
    EXPECT_TRUE(std::isnan(amax.item<float>()));
  }
  const Tensor amax = zeros({1});
  const uint64_t before = amax._version();
  cast_float8(ones({2}), kFloat8_e5m2, Float8CastOptions().amax(amax));
  EXPECT_GT(amax._version(), before);
}

TEST(CastFloat8, ComputesF64InF64) {
  // Just above a tie between neighbours, by less than f32 can tell; and a product that f32 would round to the tie.
  const Tensor x = tensor({17 + 0x1p-40, 17.0, 19 - 0x1p-40}, kDouble);
  EXPECT_EQ(floats_of(cast_float8(x, kFloat8_e4m3fn)), (std::vector<float>{18, 16, 18}));
  const Tensor scale = full({1}, 3.0), third = tensor({17.0 / 3 + 0x1p-48}, kDouble);
  EXPECT_EQ(floats_of(cast_float8(third, kFloat8_e4m3fn, Float8CastOptions().scale(scale))), std::vector<float>{18});
  const Tensor amax = zeros({1});
  cast_float8(tensor({1 + 0x1p-30, -1.0}, kDouble), kFloat8_e4m3fn, Float8CastOptions().amax(amax));
  EXPECT_EQ(amax.item<float>(), 1);
}

TEST(CastFloat8, AllOptionsTogether) {
  const Tensor x = numbers(300), scale = full({1}, 16.0), amax = zeros({1});
  const auto options = Float8CastOptions()
                           .overflow(Float8Overflow::saturate)  // or overflow: NaN in e4m3fn, infinity in e5m2
                           .stochastic(true)                    // up or down at random, on average exact
                           .scale(scale)                        // rounds x * scale
                           .amax(amax);                         // the larger of amax and max |x|, in the same pass
  const Tensor y = cast_float8(x, kFloat8_e5m2, options);
  EXPECT_EQ(amax.item<float>(), abs(x).max().item<float>());
  const std::vector<float> values = floats_of(x), rounded = floats_of(y);
  for (size_t i = 0; i < values.size(); ++i) {
    const float exact = values[i] * 16, limit = std::fmin(std::fabs(exact), 57344);
    EXPECT_NEAR(std::fabs(rounded[i]), limit, std::fmax(limit / 4, 0x1p-16f)) << exact;
  }
}

TEST(CastFloat8, IsNotRecorded) {
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_FALSE(cast_float8(x, kFloat8_e4m3fn).requires_grad());
}

TEST(CastFloat8, ThreadsShareAnAmax) {
  TANDEM_TEST_ON_HOST();
  const Tensor many = ones({500000}), one = full({1}, 100.0);
  for (int k = 0; k < 10; ++k) {
    const Tensor amax = zeros({1});
    const auto options = Float8CastOptions().amax(amax);
    std::atomic<bool> started{false};
    std::thread casts([&] {
      started = true;
      for (int i = 0; i < 5; ++i) cast_float8(many, kFloat8_e4m3fn, options);
    });
    while (!started) std::this_thread::yield();
    cast_float8(one, kFloat8_e4m3fn, options);
    casts.join();
    EXPECT_EQ(amax.item<float>(), 100);
  }
}

}  // namespace
}  // namespace tandem
