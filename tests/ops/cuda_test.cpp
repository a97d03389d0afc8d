// Every case on the CUDA device, forward and backward, against the CPU. Both are within the tolerance of the exact
// value, so they differ by at most twice the tolerance.
#include "ops/op_cases.h"
#include "support/device.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::testing {
namespace {

/// Copies the inputs to the device with the same strides.
Out on_device(In inputs) {
  NoGradGuard no_grad;
  Out result;
  for (const Tensor& x : inputs) {
    Tensor copy = empty_strided(x.sizes(), x.strides(), x.options().device(kCUDA));
    backend(copy).copy(copy, x);
    copy.requires_grad_(x.requires_grad());
    result.push_back(copy);
  }
  return result;
}

Tolerance twice(Tolerance t) { return {2 * t.rtol, 2 * t.atol}; }

class CudaTest : public ::testing::TestWithParam<const Case*> {
 protected:
  void SetUp() override { cuda::set_allow_tf32_conv(false); }  // on by default, as in PyTorch; these tests compare f32
  void TearDown() override { cuda::set_allow_tf32_conv(true); }
  void check(DType dtype) {
    const Case& c = *GetParam();
    if (is_reduced_floating_point(dtype) && !c.no_low.empty()) GTEST_SKIP() << c.no_low;
    TANDEM_TEST_ON_HOST();  // the CPU computes the reference
    const Out inputs = make_inputs(c, dtype), device_inputs = on_device(inputs);
    const Out outputs = c.run(inputs), device_outputs = c.run(device_inputs);
    ASSERT_EQ(outputs.size(), device_outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      EXPECT_TRUE(device_outputs[i].is_cuda());
      EXPECT_EQ(name(device_outputs[i].dtype()), name(outputs[i].dtype()));
      const auto expected = values_of(outputs[i]);
      EXPECT_TRUE(near(device_outputs[i], expected, twice(forward_tolerance(c, outputs[i].dtype(), expected))));
    }
    const Out wanted = requiring_grad(inputs), device_wanted = requiring_grad(device_inputs);
    if (wanted.empty()) return;
    const Out grads = gradients(outputs, wanted), device_grads = gradients(device_outputs, device_wanted);
    ASSERT_EQ(grads.size(), device_grads.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      SCOPED_TRACE("gradient " + std::to_string(i));
      ASSERT_EQ(device_grads[i].defined(), grads[i].defined());
      if (!grads[i].defined()) continue;
      const auto expected = values_of(grads[i]);
      EXPECT_TRUE(near(device_grads[i], expected, twice(gradient_tolerance(c, dtype, expected))));
    }
  }
};

TEST_P(CudaTest, F64) { check(kDouble); }
TEST_P(CudaTest, F32) { check(kFloat); }
TEST_P(CudaTest, F16) { check(kHalf); }
TEST_P(CudaTest, BF16) { check(kBFloat16); }

// Without a device there are no such tests, and the test below is reported as skipped.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaTest);
INSTANTIATE_TEST_SUITE_P(Ops, CudaTest,
                         ::testing::ValuesIn(cases_where([](const Case&) { return cuda::is_available(); })),
                         parameter_name);

TEST(Cuda, EveryCaseRunsOnTheDevice) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::unavailable_reason();
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  int tests = 0;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    if (std::string(suite.name()) == "Ops/CudaTest") tests = suite.total_test_count();
  }
  EXPECT_EQ(tests, 4 * static_cast<int>(all_cases().size())) << "one for each case and dtype";
}

}  // namespace
}  // namespace tandem::testing
