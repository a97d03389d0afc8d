// Samples: their distribution, generators, and independence of strides and devices.
#include "tandem/ops/random.h"

#include <cmath>

#include "support/op_test.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

double mean_of(const Tensor& x) { return x.to(kDouble).mean().item<double>(); }
double deviation_of(const Tensor& x) { return std::sqrt(x.to(kDouble).var().item<double>()); }

TEST(Samples, RepeatWithTheSeed) {
  const Tensor p = rand({3, 50}).t(), weights = rand({4, 9});
  const auto draw = [&](std::optional<Generator> g) -> std::vector<Tensor> {
    return {bernoulli(p, g),
            bernoulli(p, 0.3, g),
            normal(p, p, g),
            normal(p, 2.0, g),
            normal(1.0, p, g),
            normal(1.0, 2.0, {40}, g),
            poisson(p, g),
            binomial(p * 40, p, g),
            multinomial(weights, 1, false, g),
            multinomial(weights, 5, false, g),
            multinomial(weights, 20, true, g)};
  };
  const std::vector<Tensor> first = draw(Generator(5)), again = draw(Generator(5)), other = draw(Generator(6));
  manual_seed(5);
  const std::vector<Tensor> global = draw(std::nullopt);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(equal(first[i].contiguous(), again[i].contiguous())) << i;
    EXPECT_FALSE(equal(first[i].contiguous(), other[i].contiguous())) << i;
  }
  EXPECT_TRUE(equal(first[0].contiguous(), global[0].contiguous()));
}

TEST(Samples, HaveTheRightMoments) {
  manual_seed(1);
  const Tensor p = full({100000}, 0.3);
  EXPECT_NEAR(mean_of(bernoulli(p)), 0.3, 0.01);
  EXPECT_NEAR(mean_of(bernoulli(p, 0.8)), 0.8, 0.01);
  EXPECT_NEAR(mean_of(normal(p, 2.0)), 0.3, 0.03);
  EXPECT_NEAR(deviation_of(normal(p, 2.0)), 2, 0.03);
  EXPECT_NEAR(deviation_of(normal(1.0, p)), 0.3, 0.01);
  EXPECT_NEAR(mean_of(normal(1.0, p)), 1, 0.01);
  EXPECT_NEAR(mean_of(poisson(p * 50)), 15, 0.1);
  EXPECT_NEAR(mean_of(binomial(full({}, 50.0), p)), 15, 0.1);
  EXPECT_NEAR(mean_of(empty({100000}).exponential_(4)), 0.25, 0.01);
  EXPECT_NEAR(mean_of(empty({100000}).geometric_(0.5)), 2, 0.03);
  EXPECT_NEAR(mean_of(empty({100000}).log_normal_(0, 0.5)), std::exp(0.125), 0.02);
  EXPECT_NEAR(mean_of((empty({100000}).cauchy_(1, 3) < 1).to(kFloat)), 0.5, 0.01);
  const Tensor mixed = zeros({2, 50000}, kLong).bernoulli_(tensor({{0.0}, {1.0}}).to(p.device()));
  EXPECT_EQ(mixed[0].sum().item<int64_t>(), 0);
  EXPECT_EQ(mixed[1].sum().item<int64_t>(), 50000);
}

TEST(Samples, IntegersCoverTheDtype) {
  const Tensor bytes = empty({10000}, kByte).random_();
  EXPECT_EQ(bytes.max().item<int64_t>(), 255);
  EXPECT_EQ(bytes.min().item<int64_t>(), 0);
  EXPECT_LE(empty({1000}, kHalf).random_().to(kFloat).max().item<float>(), 2048.0F);
  const Tensor below = empty({1000}).random_(5);
  EXPECT_EQ(below.max().item<float>(), 4.0F);
  EXPECT_EQ(randint_like(bytes, 3, 4).sum().item<int64_t>(), 30000);
  EXPECT_EQ(randint_like(bytes, 1).dtype(), kByte);
}

TEST(Multinomial, FollowsTheWeights) {
  manual_seed(2);
  const Tensor weights = tensor({{1.0, 0.0, 3.0}, {0.0, 5.0, 0.0}}).to(rand({1}).device());
  const Tensor many = multinomial(weights, 20000, true);
  EXPECT_EQ(many.dtype(), kLong);
  EXPECT_EQ(many.sizes(), IntArrayRef({2, 20000}));
  EXPECT_EQ((many[0] == 1).sum().item<int64_t>(), 0);
  EXPECT_NEAR(mean_of((many[0] == 2).to(kFloat)), 0.75, 0.02);
  EXPECT_EQ((many[1] == 1).sum().item<int64_t>(), 20000);
  const Tensor one = multinomial(weights[0].expand({20000, 3}), 1);
  EXPECT_NEAR(mean_of((one == 2).to(kFloat)), 0.75, 0.02);
  EXPECT_EQ((one == 1).sum().item<int64_t>(), 0);
}

TEST(Multinomial, WithoutReplacementGivesDifferentIndices) {
  const Tensor order = multinomial(ones({3, 40}, kHalf), 40);
  for (int64_t row = 0; row < 3; ++row) {
    std::vector<int64_t> seen(40);
    for (int64_t i = 0; i < 40; ++i) ++seen[static_cast<size_t>(order[row][i].item<int64_t>())];
    for (int64_t count : seen) EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(multinomial(ones({5}), 2).sizes(), IntArrayRef({2}));
  EXPECT_EQ(multinomial(ones({0, 5}), 2).sizes(), IntArrayRef({0, 2}));
}

TEST(Samples, HaveNoHistory) {
  const Tensor p = full({3}, 0.5).requires_grad_();
  EXPECT_FALSE(bernoulli(p).requires_grad());
  EXPECT_FALSE(normal(p, p).requires_grad());
  EXPECT_FALSE(poisson(p).requires_grad());
  EXPECT_FALSE(binomial(p, p).requires_grad());
  EXPECT_TRUE(normal(0.0, 1.0, {2}, {}, requires_grad()).requires_grad());
}

}  // namespace
}  // namespace tandem::testing
