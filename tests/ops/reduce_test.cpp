// f16 reductions whose intermediate values exceed its range. Values are compared with PyTorch through tests/cases.
#include <algorithm>
#include <cmath>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"

namespace tandem::testing {
namespace {

TEST(Norm, OfAnyOrderIsComputedInF32) {
  for (DType dtype : {kHalf, kBFloat16}) {
    EXPECT_EQ(norm(full({1}, 50, dtype), 3).item<float>(), 50.0F) << name(dtype);
    const float small = full({1}, 1e-3, dtype).item<float>();
    EXPECT_EQ(norm(full({1}, 1e-3, dtype), 3).item<float>(), small) << name(dtype);
    EXPECT_EQ(norm(full({8}, 64, dtype), 3).item<float>(), 128.0F) << name(dtype);
    EXPECT_EQ(norm(full({8}, 64, dtype), 3).dtype(), dtype);
    EXPECT_EQ(norm(full({8}, 64, dtype), 3, kFloat).dtype(), kFloat);
    const Tensor x = full({1}, 50, dtype).requires_grad_();
    norm(x, 3).backward();
    EXPECT_EQ(x.grad().item<float>(), 1.0F) << name(dtype);
  }
  amp::AutocastGuard autocast(device_type());
  EXPECT_EQ(norm(full({8}, 64, kHalf), 3).dtype(), kFloat);
}

TEST(Norm, DerivativesOfAnyOrder) {
  for (double p : {0.5, 1.5, 3.0, 4.5}) {
    check_twice([p](In v) -> Out { return {norm(v[0], p, {1}, true)}; },
                {(rand({2, 3}, kDouble) + 0.5).detach().requires_grad_()});
  }
  const Tensor x = tensor({0.0, 2.0, 0.0}).requires_grad_();
  norm(x, 3).backward();
  EXPECT_EQ(values_of(x.grad()), (std::vector<double>{0, 1, 0}));
  const Tensor zero = zeros({3}).requires_grad_();
  for (double p : {0.5, 1.5, 3.0}) {
    zero.mutable_grad() = {};
    norm(zero, p).backward();
    EXPECT_EQ(values_of(zero.grad()), (std::vector<double>{0, 0, 0})) << p;
  }
  for (double p : {-1.0, 0.0}) {  // a norm of 0, and a number of elements
    const Tensor one_zero = tensor({-3.0, 0.0, 2.0}).requires_grad_();
    norm(one_zero, p).backward();
    EXPECT_EQ(values_of(one_zero.grad()), (std::vector<double>{0, 0, 0})) << p;
  }
}

TEST(Trapezoid, OfU8AndOfNoNumbers) {
  EXPECT_EQ(trapezoid(full({3}, 200, kByte)).item<double>(), 400);
  EXPECT_TRUE(trapezoid(zeros({0}).requires_grad_()).requires_grad());
}

TEST(Reduce, AnyAndAllOfNoDimensionsReduceNothing) {
  const Tensor x = tensor({-3.0, 0.0, std::nan("")});
  for (bool keepdim : {true, false}) {
    EXPECT_TRUE(equal(any(x, IntArrayRef(), keepdim), ne(x, 0)));
    EXPECT_TRUE(equal(all(x, IntArrayRef(), keepdim), ne(x, 0)));
  }
}

TEST(Reduce, VarianceAcceptsEveryCorrection) {
  for (int64_t correction : {INT64_MIN, INT64_MAX}) {
    const Tensor x = tensor({1.0f, 3.0f}).requires_grad_();
    var(x, IntArrayRef(), correction).backward();  // no overflow: checked by UndefinedBehaviorSanitizer
    EXPECT_EQ(x.grad().sizes(), x.sizes());
  }
}

TEST(Reduce, GradientsOfMeansOverMoreElementsThanF16Counts) {
  manual_seed(7);
  const Tensor random = randn({1 << 19}).to(kHalf);
  const auto expect_same_gradient = [](const char* what, const Tensor& values, const auto& f) {
    const Tensor x = values.detach().requires_grad_(), wide = values.to(kDouble).requires_grad_();
    const Tensor y = f(x), expected = f(wide);
    EXPECT_TRUE(near(y, expected, tolerance(kHalf))) << what;
    y.backward(full({}, 32768, kHalf));
    expected.backward(full({}, 32768, kDouble));
    const double largest = norm(wide.grad(), kInf).item<double>();
    EXPECT_TRUE(near(x.grad(), wide.grad(), tolerance(kHalf, 1, 3, largest))) << what;
  };
  expect_same_gradient("mean", random, [](const Tensor& x) { return mean(x); });
  expect_same_gradient("var", random, [](const Tensor& x) { return var(x); });
  expect_same_gradient("norm_inf of equal values", ones({500000}, kHalf),
                       [](const Tensor& x) { return norm(x, kInf); });
}

TEST(Max, ValuesAlongADimensionMayBeChangedInPlace) {
  for (const Dims& sizes : {Dims{}, Dims{1}}) {
    const Tensor x = ones(sizes).requires_grad_();
    const Tensor values = std::get<0>(max(x, 0));
    values.mul_(3);
    values.backward();
    EXPECT_TRUE(near(x.grad(), full(sizes, 3), kExact));
  }
}

TEST(LogSumExp, GradientsOfLargeNumbersAreTheWeights) {
  for (const double level : {0.0, -1e9, 1e9}) {
    const Tensor x = full({2, 16}, level).requires_grad_();
    logsumexp(x, {1}).sum().backward();
    EXPECT_TRUE(near(x.grad(), full({2, 16}, 1.0 / 16), tolerance(kFloat, 16))) << level;
    const Tensor z = full({4}, level).requires_grad_();
    logcumsumexp(z, 0)[3].backward();
    EXPECT_TRUE(near(z.grad(), full({4}, 0.25), tolerance(kFloat, 4))) << level;
  }
}

TEST(Max, DividesTheGradientAmongManyEqualValues) {
  constexpr int64_t n = 1 << 17;
  for (const bool of_norm : {false, true}) {
    const Tensor x = ones({n}, kHalf).requires_grad_();
    const Tensor y = of_norm ? norm(x, kInf) : max(x);
    y.backward(full({}, 1024, kHalf));
    const std::vector<double> g = values_of(x.grad());
    EXPECT_EQ(*std::min_element(g.begin(), g.end()), 1024.0 / n) << of_norm;
    EXPECT_EQ(*std::max_element(g.begin(), g.end()), 1024.0 / n) << of_norm;
  }
}

}  // namespace
}  // namespace tandem::testing
