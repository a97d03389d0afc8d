// Every case in f16 and bf16, forward and backward, against the f64 kernels on the same rounded inputs.
#include "ops/op_cases.h"

namespace tandem::testing {
namespace {

/// Converts the inputs to f64; integers, bools and fixed f64 inputs are returned unchanged.
Out in_f64(In inputs) {
  NoGradGuard no_grad;
  Out result;
  for (const Tensor& x : inputs) {
    if (!x.is_floating_point() || x.dtype() == kDouble) {
      result.push_back(x);
      continue;
    }
    Tensor wide = empty_like(x, kDouble);
    backend(x).copy(wide, x);
    wide.requires_grad_(x.requires_grad());
    result.push_back(wide);
  }
  return result;
}

/// Runs backward with gradient weights that are exact in the low dtype, for outputs of either dtype.
Out backward_of(In outputs, In low_outputs, const Out& inputs) {
  Out roots, weights;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!low_outputs[i].requires_grad() || !outputs[i].requires_grad()) continue;
    const Tensor weight = make_output_gradient(low_outputs[i], i);
    Tensor own = empty_like(weight, outputs[i].dtype());
    backend(own).copy(own, weight);
    roots.push_back(outputs[i]);
    weights.push_back(own);
  }
  if (roots.empty()) return Out(inputs.size());
  return autograd::grad(roots, inputs, weights, std::nullopt, false, /*allow_unused=*/true);
}

class LowPrecisionTest : public ::testing::TestWithParam<const Case*> {
 protected:
  void check(DType low) {
    const Case& c = *GetParam();
    const Out inputs = make_inputs(c, low), wide_inputs = in_f64(inputs);
    const Out outputs = c.run(inputs), wide = c.run(wide_inputs);
    ASSERT_EQ(outputs.size(), wide.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      ASSERT_EQ(to_string(outputs[i].sizes()), to_string(wide[i].sizes()));
      EXPECT_EQ(outputs[i].requires_grad(), wide[i].requires_grad());
      const auto expected = values_of(wide[i]);
      EXPECT_TRUE(near(outputs[i], expected, forward_tolerance(c, outputs[i].dtype(), expected)));
    }
    const Out wanted = requiring_grad(inputs), wide_wanted = requiring_grad(wide_inputs);
    if (wanted.empty()) return;
    const Out grads = backward_of(outputs, outputs, wanted), wide_grads = backward_of(wide, outputs, wide_wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE("gradient " + std::to_string(i));
      const auto expected = gradient_values(wide_grads[i], wanted[i]);
      if (!grads[i].defined()) {
        for (double v : expected) EXPECT_EQ(v, 0);
        continue;
      }
      EXPECT_EQ(name(grads[i].dtype()), name(wanted[i].dtype()));
      EXPECT_TRUE(near(grads[i], expected, gradient_tolerance(c, low, expected)));
    }
  }
};

TEST_P(LowPrecisionTest, F16) { check(kHalf); }
TEST_P(LowPrecisionTest, BF16) { check(kBFloat16); }

INSTANTIATE_TEST_SUITE_P(Ops, LowPrecisionTest,
                         ::testing::ValuesIn(cases_where([](const Case& c) { return c.no_low.empty(); })),
                         parameter_name);

}  // namespace
}  // namespace tandem::testing
