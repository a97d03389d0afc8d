// Products with an inner size of 0. Values are compared with PyTorch through tests/cases.
#include "support/op_test.h"

namespace tandem::testing {
namespace {

TEST(Linear, WithoutInFeaturesReturnsTheBias) {
  const Tensor weight = ones({4, 0}).requires_grad_(), bias = arange(4, kFloat).requires_grad_();
  for (const Dims& sizes : {Dims{0}, Dims{5, 0}, Dims{2, 3, 0}, Dims{2, 0, 3, 0}}) {
    const Tensor x = ones(sizes).requires_grad_();
    const Tensor y = linear(x, weight, bias);
    Dims want = sizes;
    want.back() = 4;
    ASSERT_EQ(y.sizes(), IntArrayRef(want));
    EXPECT_TRUE(same_bits(y, bias.expand(want))) << to_string(sizes);
    EXPECT_EQ(linear(x, weight).abs().sum().item<float>(), 0.0F);
    y.sum().backward();
    EXPECT_EQ(x.grad().sizes(), x.sizes());
    EXPECT_EQ(weight.grad().sizes(), weight.sizes());
  }
}

}  // namespace
}  // namespace tandem::testing
