// Elementwise ops with scalars, bounds, or operands of another dtype. Values are compared with PyTorch through
// tests/cases.
#include <cmath>

#include "support/op_test.h"

namespace tandem::testing {
namespace {

// As in PyTorch, the subgradient at a bound is 0.
TEST(Clamp, GradientPassesBetweenTheBounds) {
  const auto gradient = [](std::optional<Scalar> min, std::optional<Scalar> max) {
    const Tensor x = tensor({-kInf, -1.0, 0.0, 1.0, kInf}).requires_grad_();
    clamp(x, min, max).sum().backward();
    return values_of(x.grad());
  };
  using Values = std::vector<double>;
  EXPECT_EQ(gradient(0, {}), (Values{0, 0, 0, 1, 1}));
  EXPECT_EQ(gradient({}, 0), (Values{1, 1, 0, 0, 0}));
  EXPECT_EQ(gradient(-1, 1), (Values{0, 0, 1, 0, 0}));
}

TEST(Clamp, AcceptsBoundsBeyondTheDtype) {
  const Tensor x = full({2}, 3, kHalf).requires_grad_();
  const Tensor y = clamp(x, -1e5, 1e5);
  y.sum().backward();
  EXPECT_EQ(values_of(y), values_of(x));
  EXPECT_EQ(values_of(x.grad()), (std::vector<double>{1, 1}));
}

TEST(Compare, AcceptsNumbersBeyondTheDtype) {
  const Tensor low = full({1}, 60000, kHalf), single = full({1}, 3e38), wide = full({1}, 1e38, kBFloat16);
  EXPECT_TRUE((low < 1e5).item<bool>());
  EXPECT_FALSE((low > 1e5).item<bool>());
  EXPECT_TRUE((low > -1e5).item<bool>());
  EXPECT_TRUE((low != 100000).item<bool>());
  EXPECT_FALSE((low == 1e5).item<bool>());
  EXPECT_TRUE((single < 1e300).item<bool>());
  EXPECT_TRUE((wide < 1e300).item<bool>());
  EXPECT_EQ(where(low > 1e5, 1e5, low).item<float>(), 60000.0F);
  // A number in the dtype's range is rounded to the dtype, as in PyTorch.
  EXPECT_TRUE((full({1}, 0.1, kHalf) == 0.1).item<bool>());
}

TEST(Pow, GradientOfAnF64ExponentIsF64) {
  const Tensor base = tensor({3, 10}), exponent = tensor({1.5, -2.25}, kDouble).requires_grad_();
  pow(base, exponent).sum().backward();
  const std::vector<double> g = values_of(exponent.grad());
  const double want[] = {std::pow(3.0, 1.5) * std::log(3.0), std::pow(10.0, -2.25) * std::log(10.0)};
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(g[i], want[i], 1e-14 * std::abs(want[i])) << i;
}

// a / b overflows f16, the gradient of xlogy(a, b) times a small number does not.
TEST(Xlogy, GradientStaysInTheRangeOfF16) {
  const Tensor x = tensor({0x1p-17}, kHalf).requires_grad_();
  xlogy(0.75, x).backward(tensor({0.5}, kHalf));
  EXPECT_EQ(x.grad().item<double>(), 0x1.8p+15);
}

// The logarithm of an f32 operand is not rounded to f32 if the other operand is f64.
TEST(Xlogy, GradientOfAnF64OperandIsF64) {
  const Tensor x = tensor({1.5}, kDouble).requires_grad_();
  xlogy(x, tensor({3.0}, kFloat)).sum().backward();
  EXPECT_NEAR(x.grad().item<double>(), std::log(3.0), 1e-15);
}

TEST(Atan2, GradientStaysInTheRangeOfF16) {
  const Tensor x = tensor({-0x1p-20}, kHalf).requires_grad_();
  atan2(zeros({1}, kHalf), x).sum().backward();
  EXPECT_EQ(x.grad().item<double>(), 0);
}

TEST(Hypot, GradientOfSubnormalNumbersOfF16) {
  const Tensor x = tensor({0x1p-24}, kHalf).requires_grad_();
  hypot(x, x).sum().backward();
  EXPECT_NEAR(x.grad().item<double>(), std::sqrt(2), 1e-3);
}

TEST(Ldexp, IsNotRoundedToTheExponentsDtype) {
  const Tensor x = tensor({3.0}, kDouble);
  EXPECT_NEAR(ldexp(x, tensor({0.1}, kFloat)).item<double>(), 3 * std::exp2(double{0.1F}), 1e-15);
}

TEST(Binary, GradientsBesideIntegersAndBools) {
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<const char*, Function> functions[] = {{"atan2", atan2},
                                                        {"hypot", hypot},
                                                        {"fmax", fmax},
                                                        {"fmin", fmin},
                                                        {"copysign", copysign},
                                                        {"fmod", fmod},
                                                        {"remainder", remainder},
                                                        {"logaddexp", logaddexp},
                                                        {"xlogy", xlogy},
                                                        {"logaddexp2", logaddexp2},
                                                        {"pow", pow},
                                                        {"div", div},
                                                        {"mul", mul},
                                                        {"ldexp", ldexp}};
  for (const auto& [name, function] : functions) {
    for (const DType dtype : {kBool, kByte, kInt, kLong}) {
      const Tensor other = ones({2}, dtype);
      for (const bool first : {false, true}) {
        const auto gradient = [&, &function = function](const Tensor& b) {
          const Tensor x = tensor({1.5, -0.75}, kFloat).requires_grad_();
          (first ? function(b, x) : function(x, b)).sum().backward();
          return values_of(x.grad());
        };
        EXPECT_EQ(gradient(other), gradient(other.to(kFloat))) << name << ' ' << tandem::name(dtype) << first;
      }
    }
  }
}

TEST(SumToSize, SumsIntegersInI64) {
  const Tensor sums = sum_to_size(full({3, 2}, 100, kChar), {1, 2}), counts = sum_to_size(ones({2}, kBool), {1});
  EXPECT_EQ(sums.dtype(), kLong);
  EXPECT_EQ(values_of(sums), std::vector<double>({300, 300}));
  EXPECT_EQ(counts.dtype(), kLong);
  EXPECT_EQ(values_of(counts), std::vector<double>({2}));
}

// The elements of an expanded leaf have gradients of their own.
TEST(Einsum, DiagonalOfAnExpandedLeaf) {
  const Tensor x = tensor({1.0, 2.0}).expand({2, 2}).detach().requires_grad_();
  einsum("ii", {x}).backward();
  EXPECT_EQ(values_of(x.grad()), std::vector<double>({1, 0, 0, 1}));
}

TEST(Item, RefusesNumbersBeyondTheType) {
  EXPECT_THROWS(tensor({1000}).item<int8_t>(), StateError, "item: ", "1000", "i8");
  EXPECT_THROWS(tensor({-129}).item<int8_t>(), StateError, "item: ", "-129");
  EXPECT_THROWS(tensor({int64_t{1} << 31}).item<int>(), StateError, "item: ", "2147483648", "i32");
  EXPECT_THROWS(tensor({300.0}).item<uint8_t>(), StateError, "item: ", "300");
  EXPECT_THROWS(tensor({kInf}).item<int64_t>(), StateError, "item: ", "inf");
  EXPECT_THROWS(tensor({NAN}).item<int>(), StateError, "item: ", "nan");
  EXPECT_THROWS(tensor({1e300}, kDouble).item<float>(), StateError, "item: ", "1e+300", "f32");
  EXPECT_THROWS(tensor({1e5}).item<Half>(), StateError, "item: ", "100000", "f16");
  EXPECT_EQ(tensor({-128}).item<int8_t>(), -128);
  EXPECT_EQ(tensor({-1}).item<uint8_t>(), 255);  // modulo 2^8, as in PyTorch
  EXPECT_EQ(tensor({kInf}).item<float>(), kInf);
  EXPECT_EQ(tensor({1000}).item<bool>(), true);
  EXPECT_EQ(tensor({0.5}).item<bool>(), true);
}

}  // namespace
}  // namespace tandem::testing
