// Initialisation: bounds, moments against their formulas, gains, errors.
#include "tandem/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

namespace init = nn::init;

constexpr int64_t kOut = 200, kIn = 100, kField = 4;  // fan in 400, fan out 800

Tensor weight() { return empty({kOut, kIn, 2, 2}).requires_grad_(); }

void expect_std(const Tensor& x, double std) {
  EXPECT_NEAR(x.mean().item<float>(), 0, 5 * std / std::sqrt(static_cast<double>(x.numel())));
  EXPECT_NEAR(std::sqrt(x.var().item<float>()), std, 0.02 * std);
}

void expect_bound(const Tensor& x, double bound) {
  EXPECT_LE(x.abs().max().item<float>(), static_cast<float>(bound));
  expect_std(x, bound / std::sqrt(3.0));
}

TEST(Init, Constants) {
  Tensor x = empty({3, 2}).requires_grad_();
  EXPECT_TRUE(init::constant_(x, 2.5).is_same(x));
  EXPECT_EQ(x.sum().item<float>(), 15);
  EXPECT_EQ(init::ones_(x).sum().item<float>(), 6);
  EXPECT_EQ(init::zeros_(x).sum().item<float>(), 0);
  EXPECT_EQ(init::eye_(x).sum().item<float>(), 2);
  EXPECT_TRUE(x.is_leaf() && x.requires_grad());  // initialisation is not recorded
  EXPECT_THROWS(init::eye_(empty({2})), ShapeError, "init::eye_", "[2]");
  EXPECT_THROWS(init::constant_(Tensor(), 1), StateError, "undefined");
}

TEST(Init, UniformAndNormal) {
  manual_seed(11);
  expect_bound(init::uniform_(weight(), -2, 2), 2);
  expect_std(init::normal_(weight(), 0, 3), 3);
  EXPECT_THROWS(init::uniform_(weight(), 1, -1), StateError, "uniform_");
  EXPECT_THROWS(init::normal_(weight(), 0, -1), StateError, "normal_", "-1");
  EXPECT_THROWS(init::uniform_(empty({2}, kLong)), DTypeError, "i64");
}

TEST(Init, XavierAndKaiming) {
  manual_seed(12);
  const double in = kIn * kField, out = kOut * kField;
  expect_bound(init::xavier_uniform_(weight(), 2), 2 * std::sqrt(6 / (in + out)));
  expect_std(init::xavier_normal_(weight()), std::sqrt(2 / (in + out)));
  expect_bound(init::kaiming_uniform_(weight(), std::sqrt(5.0)), 1 / std::sqrt(in));
  expect_bound(init::kaiming_uniform_(weight(), 0, kFanOut, kReLU), std::sqrt(6 / out));
  expect_std(init::kaiming_normal_(weight(), 0, kFanIn, kLinear), std::sqrt(1 / in));
  expect_std(init::kaiming_normal_(weight(), 0.5, kFanOut), std::sqrt(2 / 1.25 / out));
  for (auto* f : {&init::xavier_uniform_, &init::xavier_normal_}) {
    EXPECT_THROWS(f(empty({3}), 1), ShapeError, "rank 2", "[3]");
  }
  for (auto* f : {&init::kaiming_uniform_, &init::kaiming_normal_}) {
    EXPECT_THROWS(f(empty({3}), 0, kFanIn, kReLU), ShapeError, "rank 2", "[3]");
  }
  EXPECT_EQ(init::kaiming_uniform_(empty({0, 3})).numel(), 0);
  const init::Fan fan = init::calculate_fan_in_and_fan_out(weight());
  EXPECT_EQ(fan.in, kIn * kField);
  EXPECT_EQ(fan.out, kOut * kField);
}

TEST(Init, Gains) {
  EXPECT_EQ(init::calculate_gain(kLinear), 1);
  EXPECT_EQ(init::calculate_gain(kConv2D), 1);
  EXPECT_EQ(init::calculate_gain(kSigmoid), 1);
  EXPECT_EQ(init::calculate_gain(kTanh), 5.0 / 3.0);
  EXPECT_EQ(init::calculate_gain(kReLU), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain(kLeakyReLU, 0.5), std::sqrt(2 / 1.25));
  EXPECT_EQ(init::calculate_gain(kLeakyReLU), std::sqrt(2 / (1 + 0.01 * 0.01)));
}

}  // namespace
}  // namespace tandem
