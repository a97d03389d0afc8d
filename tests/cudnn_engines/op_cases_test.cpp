// cuDNN has an engine for every convolution that the tests of ops make, on described GPUs.
#include "ops/op_cases.h"
#include "cudnn_engines/described_devices.h"
#include "cudnn_engines/expectations.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

using namespace tandem::testing;

class CudnnOpCases : public ::testing::TestWithParam<const Case*> {
 protected:
  static void run(int device, DType dtype) {
    const Case& c = *GetParam();
    Out inputs;
    for (const Tensor& x : make_inputs(c, dtype)) {
      const NoGradGuard no_grad;
      const Tensor copy = empty_strided(x.sizes(), x.strides(), x.options().device(Device(kCUDA, device)));
      inputs.push_back(copy.requires_grad_(x.requires_grad()));
    }
    const DeviceGuard guard(Device(kCUDA, device));
    gradients(c.run(inputs), requiring_grad(inputs));
  }
};

TEST_P(CudnnOpCases, HaveEngines) {
  for (int device = 0; device < device_count(); ++device) {
    for (DType dtype : {kDouble, kFloat, kHalf, kBFloat16}) {
      SCOPED_TRACE(std::string(name(dtype)) + " on " + described_devices()[static_cast<size_t>(device)]);
      executions().clear();
      if (multiplies(device, dtype)) {
        EXPECT_NO_THROW(run(device, dtype));
      } else {
        EXPECT_THROWS(run(device, dtype), NotImplementedError, "bf16", "compute capability 8.0", "Tesla T4 has 7.5",
                      "f16");
      }
      for (const Execution& e : executions()) expect_good(e, true);
    }
  }
}

TEST(Bf16, ProductsRecommendF16OnOldDevices) {
  for (int device = 0; device < device_count(); ++device) {
    const DeviceGuard guard(Device(kCUDA, device));
    EXPECT_EQ(is_bf16_supported(), multiplies(device, kBFloat16));
    const Tensor x = empty({8, 8}, TensorOptions(kBFloat16).device(kCUDA));
    if (is_bf16_supported()) {
      EXPECT_NO_THROW(mm(x, x));
    } else {
      EXPECT_THROWS(mm(x, x), NotImplementedError, "mm: ", "bf16", "compute capability 8.0", "Tesla T4 has 7.5", "f16");
      EXPECT_NO_THROW(x + x);
    }
  }
}

bool has_a_convolution(const Case& c) {
  return c.op.starts_with("conv") && c.inputs[0].sizes[0] > 0;  // not without images
}

INSTANTIATE_TEST_SUITE_P(Convolutions, CudnnOpCases, ::testing::ValuesIn(cases_where(has_a_convolution)),
                         parameter_name);

}  // namespace
}  // namespace tandem::cuda::testing
