// First and second derivatives of every case against central differences, in f64.
#include "tandem/autograd/gradcheck.h"

#include "ops/op_cases.h"

namespace tandem::testing {
namespace {

using GradcheckTest = ::testing::TestWithParam<const Case*>;

TEST_P(GradcheckTest, FirstDerivatives) {
  const Case& c = *GetParam();
  EXPECT_NO_THROW(autograd::gradcheck(c.run, make_inputs(c, kDouble)));
}

TEST_P(GradcheckTest, SecondDerivatives) {
  const Case& c = *GetParam();
  if (!c.no_gradgradcheck.empty()) return;
  const Out inputs = make_inputs(c, kDouble);
  if (requiring_grad(c.run(inputs)).empty()) return;  // not differentiable
  EXPECT_NO_THROW(autograd::gradgradcheck(c.run, inputs));
}

INSTANTIATE_TEST_SUITE_P(Ops, GradcheckTest, ::testing::ValuesIn(cases_where([](const Case& c) {
                           return c.no_gradcheck.empty() && has_gradient(c);
                         })),
                         parameter_name);

}  // namespace
}  // namespace tandem::testing
