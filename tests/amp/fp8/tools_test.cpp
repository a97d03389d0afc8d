// The debugging tools in regions of float8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/device.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/amp/fp8.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem::amp {
namespace {

using testing::device_type;
using ::testing::HasSubstr;

TEST(Fp8Losses, CountWhatRoundingLost) {
  std::mt19937 random(4);
  for (const DType dtype : {kFloat8_e4m3fn, kFloat8_e5m2}) {
    const double largest = fp8_max(dtype), half_step = dtype == kFloat8_e4m3fn ? 16 : 4096;
    const double least = dtype == kFloat8_e4m3fn ? 0x1p-9 : 0x1p-16;
    std::vector<float> values;
    int64_t saturated = 0, flushed = 0;
    const auto add = [&](double v, bool saturates, bool flushes) {
      values.push_back(static_cast<float>(random() % 2 ? v : -v));
      saturated += saturates;
      flushed += flushes;
    };
    for (int i = 0; i < 100; ++i) {
      add(largest * std::uniform_real_distribution<double>(0.01, 1)(random), false, false);
      add(largest + half_step * std::uniform_real_distribution<double>(1.01, 100)(random), true, false);
      add(least / 2 * std::uniform_real_distribution<double>(0.01, 0.99)(random), false, true);
    }
    add(largest + half_step, false, false);
    add(least / 2, false, true);  // a tie rounds to even, to 0
    add(0, false, false);
    add(std::numeric_limits<double>::infinity(), false, false);
    add(std::numeric_limits<double>::quiet_NaN(), false, false);
    const Tensor x = tensor(values);
    const Fp8Tensor y{cast_float8(x, dtype, Float8CastOptions().overflow(Float8Overflow::saturate)),
                      {.inverse = ones({1})}};
    const Fp8Losses losses = fp8_losses(x, y);
    EXPECT_EQ(losses.elements, x.numel());
    EXPECT_EQ(losses.saturated, saturated);
    EXPECT_EQ(losses.flushed, flushed);
    EXPECT_DOUBLE_EQ(losses.flushed_percent(), 100.0 * static_cast<double>(flushed) / static_cast<double>(x.numel()));
  }
  EXPECT_EQ(Fp8Losses().saturated_percent(), 0);
  const Tensor x = ones({3});
  EXPECT_THROWS(fp8_losses(ones({2}), quantize(x, kFloat8_e5m2, Float8CurrentScaling())), ShapeError,
                "fp8_losses: ", "[2] f32", "[3] f8e5m2");
}

TEST(Fp8Tools, OpStatsCountsProductsAndLosses) {
  const Tensor x = randn({4, 32}, Generator(1)).requires_grad_(), w = randn({8, 32}, Generator(2)).requires_grad_();
  OpStats stats;
  Tensor y;
  {
    const Fp8AutocastGuard fp8(device_type());  // beside a large number, small ones become 0
    const Tensor big = x.detach().clone();
    big[0][0].fill_(1000);
    big[0][1].fill_(1e-6);
    linear(big, w);
    y = linear(x, w);
  }
  y.sum().backward();
  const auto counts = stats.counts();
  const auto product = std::find_if(counts.begin(), counts.end(), [](const OpCount& c) { return c.op == "linear"; });
  ASSERT_NE(product, counts.end());
  EXPECT_EQ(product->dtype, kFloat8_e4m3fn);
  EXPECT_EQ(product->calls, 2);
  const std::vector<RoundingCount> roundings = stats.roundings();
  ASSERT_EQ(roundings.size(), 3u);  // by name of the operand
  EXPECT_EQ(roundings[0].operand, "gradient");
  EXPECT_EQ(roundings[0].dtype, kFloat8_e5m2);
  EXPECT_EQ(roundings[0].tensors, 1);
  EXPECT_EQ(roundings[1].operand, "input");
  EXPECT_EQ(roundings[1].tensors, 2);
  EXPECT_EQ(roundings[1].losses.elements, 2 * 4 * 32);
  EXPECT_EQ(roundings[1].losses.saturated, 0);
  EXPECT_GE(roundings[1].losses.flushed, 1);
  EXPECT_EQ(roundings[2].operand, "weight");
  EXPECT_EQ(roundings[2].tensors, 1);
  EXPECT_THAT(stats.table(), HasSubstr("input of linear in f8e4m3fn: 2 tensors, 0 % of the elements saturated"));
  EXPECT_THAT(stats.json(), HasSubstr(R"("operand": "input", "dtype": "f8e4m3fn", "tensors": 2, "elements": 256, )"
                                      R"("saturated": 0)"));
  stats.reset();
  EXPECT_TRUE(stats.roundings().empty());
}

TEST(Fp8Tools, ProductsWithoutAWeightRunNoFurtherOps) {
  const Tensor a = ones({4, 8}), b = ones({8, 4}).requires_grad_(), c = mul(b, 1);
  const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
  const OpStats stats;
  mm(a, c);
  EXPECT_EQ(stats.total().calls, 1);
}

TEST(Fp8Tools, ExplainNamesTheRecipe) {
  const Tensor x = ones({4, 32}), w = ones({8, 32}).requires_grad_();
  const Fp8AutocastGuard fp8(device_type(), MXFP8BlockScaling());
  EXPECT_THAT(explain("linear", kFloat, kFloat).rule,
              HasSubstr("with a weight in float8, MXFP8BlockScaling(fp8_format=E4M3)"));
  EXPECT_EQ(explain("softmax", kFloat).rule.find("float8"), std::string::npos);
  const std::string text = explain([&] { linear(x, w); }).str();
  EXPECT_THAT(text, HasSubstr("input 1: f32 -> f8e4m3fn: a product with a weight in a region of float8"));
  EXPECT_THAT(text, HasSubstr("result: bf16, from operands of f8e4m3fn, with f32 sums"));
}

TEST(Fp8Tools, CheckNumericsPredictsWhatBecomesZero) {
  const Tensor x = mul(randn({2000}, Generator(3)), exp(mul(randn({2000}, Generator(4)), 6)));
  const Numerics n = check_numerics(x);
  for (const DType dtype : {kFloat8_e4m3fn, kFloat8_e5m2}) {
    const Fp8Losses losses = fp8_losses(x, quantize(x, dtype, Float8CurrentScaling()));
    EXPECT_EQ(dtype == kFloat8_e4m3fn ? n.e4m3_underflows : n.e5m2_underflows, losses.flushed) << name(dtype);
    EXPECT_GT(losses.flushed, 0);
    EXPECT_EQ(losses.saturated, 0);
  }
  const Numerics codes = check_numerics(tensor({448.0f, 0x1p-9f, 0.0f}).to(kFloat8_e4m3fn));
  EXPECT_EQ(codes.subnormals, 1);
  EXPECT_EQ(codes.zeros, 1);
  EXPECT_EQ(codes.amax, 448);
}

TEST(Fp8Tools, OverflowFinderFindsGradientsThatOverflow) {
  nn::Linear layer(32, 8);
  OverflowFinder finder(*layer);
  Tensor loss;
  {
    const Fp8AutocastGuard fp8(device_type());
    loss = mul(layer(ones({2, 32})).to(kFloat).sum(), std::numeric_limits<float>::infinity());
  }
  finder.reset();
  loss.backward();
  ASSERT_TRUE(finder.found().has_value());
  EXPECT_EQ(finder.found()->backward_of, "mul");
}

TEST(Fp8Tools, TrainLogWritesScales) {
  const testing::TemporaryFolder folder;
  nn::Linear layer(32, 8);
  EXPECT_TRUE(fp8_log_values(*layer).empty());
  const Tensor x = mul(ones({2, 32}), 7);
  {
    const Fp8AutocastGuard fp8(device_type());
    layer(x);
  }
  {
    TrainLog log(folder.path("log.jsonl"));
    log.step({.values = fp8_log_values(*layer)});
  }
  std::ifstream file(folder.path("log.jsonl"));
  std::string line;
  std::getline(file, line);
  EXPECT_THAT(line, HasSubstr("\"weight.input_scale\": 64"));
  EXPECT_THAT(line, HasSubstr("\"weight.input_amax\": 7"));
  EXPECT_THAT(line, HasSubstr("\"weight.gradient_scale\": 1"));
}

}  // namespace
}  // namespace tandem::amp
