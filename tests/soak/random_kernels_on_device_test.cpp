// Random kernel calls on the CPU and on the CUDA device that TANDEM_TEST_DEVICE names. All memory that a call may use
// is compared, so writes outside of a tensor are found too.
#include "soak/random_kernel_calls.h"
#include "soak/soak.h"
#include "support/compare.h"
#include "support/device.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

KernelCall run_kernels(void (*draw)(KernelCall&), uint64_t seed, Device device) {
  const DefaultDeviceGuard guard(device);
  KernelCall call(seed);
  draw(call);
  return call;
}

/// Whether results differ by what is tolerated, since each of the two may be off by the tolerance, but for `slips`
/// elements, which differ by 1.
::testing::AssertionResult match(const Tensor& actual, const KernelCall::Kept& expected) {
  const Tolerance t{2 * expected.tolerance.rtol, 2 * expected.tolerance.atol};
  const auto result = t.rtol > 0 || t.atol > 0 ? near(actual, expected.memory, t) : same_bits(actual, expected.memory);
  if (result || expected.slips == 0) return result;
  const std::vector<double> a = values_of(actual), b = values_of(expected.memory);
  int64_t slips = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (std::abs(a[i] - b[i]) != 1 || ++slips > expected.slips) return result;
  }
  return ::testing::AssertionSuccess();
}

TEST(RandomKernelsOnDevice, MatchTheCpu) {
  if (!on_cuda()) GTEST_SKIP() << "no TANDEM_TEST_DEVICE";
  KernelCalls families = random_kernel_calls();
  families.merge(random_large_calls());
  for (Inputs inputs(800); inputs.next();) {
    SCOPED_TRACE(inputs.reproduction());
    const auto family = std::next(families.begin(), static_cast<int64_t>(inputs.seed() % families.size()));
    const KernelCall expected = run_kernels(family->second, inputs.seed(), kCPU);
    const KernelCall actual = run_kernels(family->second, inputs.seed(), get_default_device());
    ASSERT_EQ(actual.kept().size(), expected.kept().size());
    for (size_t i = 0; i < expected.kept().size(); ++i) {
      EXPECT_TRUE(match(actual.kept()[i].memory.to(kCPU), expected.kept()[i]))
          << "tensor " << i << " of " << family->first << expected.text;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
