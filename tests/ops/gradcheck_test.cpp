// First and second derivatives of every case against central differences, in f64. Under sanitizers and on a CUDA device
// one projection of each Jacobian is compared instead of all elements: they run the same backward functions as a plain
// build on the CPU, slowly, and cuda_test.cpp compares all elements of the gradients with the CPU's.
#include "tandem/autograd/gradcheck.h"

#include "ops/op_cases.h"
#include "support/device.h"
#include "support/sanitizers.h"

namespace tandem::testing {
namespace {

bool fast_mode() { return kSlowRun || on_cuda(); }

using GradcheckTest = ::testing::TestWithParam<const Case*>;

TEST_P(GradcheckTest, FirstDerivatives) {
  const Case& c = *GetParam();
  EXPECT_NO_THROW(autograd::gradcheck(c.run, make_inputs(c, kDouble), 1e-6, 1e-5, 1e-3, true, 0, true, fast_mode()));
}

TEST_P(GradcheckTest, SecondDerivatives) {
  const Case& c = *GetParam();
  if (!c.no_gradgradcheck.empty()) return;
  const Out inputs = make_inputs(c, kDouble);
  if (requiring_grad(c.run(inputs)).empty()) return;  // not differentiable
  EXPECT_NO_THROW(autograd::gradgradcheck(c.run, inputs, {}, 1e-6, 1e-5, 1e-3, true, 0, true, fast_mode()));
}

INSTANTIATE_TEST_SUITE_P(Ops, GradcheckTest, ::testing::ValuesIn(cases_where([](const Case& c) {
                           return c.no_gradcheck.empty() && has_gradient(c);
                         })),
                         parameter_name);

}  // namespace
}  // namespace tandem::testing
