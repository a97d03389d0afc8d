// Every case against PyTorch: values, dtypes, sizes and gradients, with the f32 and the f64 kernels.
#include "support/golden.h"
#include "ops/op_cases.h"

namespace tandem::testing {
namespace {

using GoldenTest = ::testing::TestWithParam<const Case*>;

/// Golden values are stored in f32.
DType stored(DType dtype) { return dtype == kDouble ? kFloat : dtype; }

TEST_P(GoldenTest, Forward) {
  const Case& c = *GetParam();
  const Golden golden = golden_of(c);
  for (DType dtype : {kFloat, kDouble}) {
    SCOPED_TRACE(std::string("computed in ") + std::string(name(dtype)));
    const Out outputs = c.run(make_inputs(c, dtype));
    ASSERT_EQ(outputs.size(), golden.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      const GoldenOutput& expected = golden.outputs[i];
      ASSERT_EQ(to_string(outputs[i].sizes()), to_string(expected.sizes));
      if (dtype == kFloat) {
        EXPECT_EQ(name(outputs[i].dtype()), name(expected.dtype));
        EXPECT_EQ(outputs[i].requires_grad(), expected.requires_grad);
      }
      EXPECT_TRUE(near(outputs[i], expected.values, forward_tolerance(c, stored(outputs[i].dtype()), expected.values)));
    }
  }
}

TEST_P(GoldenTest, Gradients) {
  const Case& c = *GetParam();
  const Golden golden = golden_of(c);
  if (golden.gradients.empty()) return;
  for (DType dtype : {kFloat, kDouble}) {
    SCOPED_TRACE(std::string("computed in ") + std::string(name(dtype)));
    const Out inputs = make_inputs(c, dtype);
    const Out wanted = requiring_grad(inputs);
    const Out grads = gradients(c.run(inputs), wanted);
    ASSERT_EQ(grads.size(), golden.gradients.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      SCOPED_TRACE("gradient " + std::to_string(i));
      const auto& expected = golden.gradients[i];
      if (!grads[i].defined()) {  // no gradient path: PyTorch returned zeros or None
        for (double v : expected) EXPECT_EQ(v, 0);
        continue;
      }
      EXPECT_EQ(name(grads[i].dtype()), name(wanted[i].dtype()));
      ASSERT_EQ(to_string(grads[i].sizes()), to_string(wanted[i].sizes()));
      EXPECT_TRUE(near(grads[i], expected, gradient_tolerance(c, stored(grads[i].dtype()), expected)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GoldenTest,
                         ::testing::ValuesIn(cases_where([](const Case& c) { return c.no_golden.empty(); })),
                         parameter_name);

}  // namespace
}  // namespace tandem::testing
