// What the case table does not cover: comparisons that return bool, random activations, the out= functions of out.inc,
// and gradients of prod that are differentiated.
#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(Functions, SumsOfSmallIntegersAreExact) {
  const Tensor x = full({2, 3}, 100, kInt8);
  EXPECT_TRUE(equal(einsum("ij->i", {x}), tensor({int64_t{300}, int64_t{300}})));
  EXPECT_TRUE(equal(einsum("ij->i", {ones({2, 3}, kBool)}), tensor({int64_t{3}, int64_t{3}})));
  EXPECT_EQ(einsum("ij->ji", {x}).dtype(), kInt8);
  EXPECT_TRUE(equal(trapezoid(x), tensor({200.0F, 200.0F})));
  EXPECT_TRUE(equal(cumulative_trapezoid(x, 2), full({2, 2}, 200.0F) * tensor({1.0F, 2.0F})));
}

TEST(Functions, ExponentialActivationsHaveFiniteSecondDerivatives) {
  for (const auto f : {+[](const Tensor& x) { return elu(x); }, +[](const Tensor& x) { return selu(x); },
                       +[](const Tensor& x) { return celu(x); }}) {
    const Tensor x = tensor({100.0F, 0.5F}).requires_grad_();
    const Tensor y = f(x), g = autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
    const Tensor second = autograd::grad({g.sum()}, {x})[0];
    EXPECT_TRUE(second[0].isfinite().item<bool>());
    EXPECT_EQ(second[0].item<float>(), second[1].item<float>());  // linear there
  }
}

TEST(Functions, IsCloseComparesWithTolerances) {
  const Tensor a = tensor({1.0, 100.0, HUGE_VAL, std::nan(""), 0.0}),
               b = tensor({1.000001, 101.0, HUGE_VAL, std::nan(""), 1e-9});
  EXPECT_TRUE(equal(isclose(a, b), tensor({true, false, true, false, true})));
  EXPECT_TRUE(equal(isclose(a, b, 0.1, 0, true), tensor({true, true, true, true, false})));
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(a.slice(0, 0, 1), b.slice(0, 0, 1)));
  EXPECT_TRUE(isclose(tensor({1, 2}), tensor({1, 3})).equal(tensor({true, false})));
}

TEST(Functions, EqualComparesSizesToo) {
  EXPECT_TRUE(equal(ones({2, 3}), ones({2, 3})));
  EXPECT_FALSE(equal(ones({2, 3}), ones({3})));
  EXPECT_FALSE(equal(ones({2}), zeros({2})));
  EXPECT_TRUE(equal(ones({2}), ones({2}, kLong)));
}

TEST(Functions, RreluDrawsSlopesBetweenTheBounds) {
  const Tensor x = full({1000}, -1.0), y = rrelu(x, 0.25, 0.5, true);
  EXPECT_GE(y.min().item<float>(), -0.5f);
  EXPECT_LE(y.max().item<float>(), -0.25f);
  EXPECT_LT(y.min().item<float>(), y.max().item<float>());
  EXPECT_TRUE(equal(rrelu(ones({9}), 0.25, 0.5, true), ones({9})));
}

TEST(Functions, GumbelSoftmaxSamplesCategories) {
  Tensor logits = randn({64, 5});
  logits.requires_grad_();
  const Tensor soft = gumbel_softmax(logits), hard = gumbel_softmax(logits, 0.5, true);
  EXPECT_TRUE(allclose(soft.sum(1).detach(), ones({64})));
  EXPECT_TRUE(equal(hard.detach().sum(1), ones({64})) || allclose(hard.detach().sum(1), ones({64})));
  EXPECT_TRUE(allclose(hard.detach().amax(1), ones({64})));
  hard.square().sum().backward();
  EXPECT_TRUE(logits.grad().defined());
}

TEST(Functions, ProdWithZerosCanBeDifferentiatedTwice) {
  const auto f = [](const std::vector<Tensor>& x) -> std::vector<Tensor> { return {prod(x[0]), prod(x[0], 1)}; };
  Tensor x = tensor({1.5, 0.0, 2.0, 0.5, -1.0, 0.0}, kDouble).view({2, 3}).clone();
  x.requires_grad_();
  EXPECT_NO_THROW(autograd::gradcheck(f, {x}));
  EXPECT_NO_THROW(autograd::gradgradcheck(f, {x}));
}

TEST(Functions, OutFunctionsWriteTheOpsValues) {
  const Tensor x = rand({3, 4}) * 0.5 + 0.25, y = rand({4}) * 0.5 + 0.25, n = randint(1, 9, {3, 4}, kLong);
  const std::string whole = "bitwise_not";
#define TANDEM_UNARY_OUT(NAME)                                                       \
  {                                                                                  \
    const Tensor& in = whole == #NAME ? n : x;                                       \
    const Tensor plain = NAME(in), out = empty_like(plain);                          \
    EXPECT_TRUE(NAME##_out(out, in).is_same(out) && same_bits(out, plain)) << #NAME; \
  }
#define TANDEM_BINARY_OUT(NAME)                                                        \
  {                                                                                    \
    const bool integers = std::string(#NAME).starts_with("bitwise");                   \
    const Tensor& a = integers ? n : x;                                                \
    const Tensor& b = integers ? n : y;                                                \
    const Tensor plain = NAME(a, b), out = empty_like(plain);                          \
    EXPECT_TRUE(NAME##_out(out, a, b).is_same(out) && same_bits(out, plain)) << #NAME; \
  }
#include "tandem/ops/out.inc"
  const Tensor out = empty({3, 4}), row = empty({4});
  EXPECT_TRUE(same_bits(pow_out(out, x, 3), pow(x, 3)));
  EXPECT_TRUE(same_bits(clamp_out(out, x, 0.3, 0.4), clamp(x, 0.3, 0.4)));
  EXPECT_TRUE(same_bits(where_out(out, x > 0.5, x, y), where(x > 0.5, x, y)));
  EXPECT_TRUE(same_bits(lerp_out(out, x, y, 0.25), lerp(x, y, 0.25)));
  EXPECT_TRUE(same_bits(lerp_out(out, x, y, x), lerp(x, y, x)));
  EXPECT_TRUE(same_bits(addcmul_out(out, x, y, x, 2), addcmul(x, y, x, 2)));
  EXPECT_TRUE(same_bits(addcdiv_out(out, x, y, x, 2), addcdiv(x, y, x, 2)));
  EXPECT_TRUE(same_bits(mean_out(row, x, 0), mean(x, 0)));
  EXPECT_TRUE(same_bits(prod_out(row, x, 0), prod(x, 0)));
  EXPECT_TRUE(same_bits(amax_out(row, x, 0), amax(x, 0)));
  EXPECT_TRUE(same_bits(amin_out(row, x, 0), amin(x, 0)));
  EXPECT_TRUE(same_bits(logsumexp_out(row, x, 0), logsumexp(x, 0)));
}

}  // namespace
}  // namespace tandem::testing
