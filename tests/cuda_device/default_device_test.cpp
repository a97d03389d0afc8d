// A CUDA device as the default: which tensors are created on it, which stay on the host, and which threads it affects.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/throws.h"
#include "tandem/amp/thread_context.h"
#include "tandem/cuda/device.h"
#include "tandem/io/io.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

TEST(DefaultDevice, AppliesToFactoriesAndModules) {
  const DefaultDeviceGuard guard(kCUDA);
  EXPECT_EQ(get_default_device(), Device(kCUDA));
  for (const Tensor& t :
       {empty({2}), zeros({2}), ones({2}), full({2}, 3), eye(2), arange(3), linspace(0, 1, 3), tensor({1, 2}),
        tensor(std::vector<float>{1}), scalar_tensor(1), rand({2}), randn({2}), randint(3, {2}), randperm(3)}) {
    EXPECT_TRUE(t.is_cuda());
  }
  EXPECT_TRUE(zeros({2}, kCPU).is_cpu());
  EXPECT_TRUE(zeros_like(zeros({2}, kCPU)).is_cpu());
  nn::Linear linear(2, 3);
  nn::BatchNorm1d norm{nn::BatchNormOptions(3)};
  const Tensor y = norm(linear(ones({4, 2})));
  EXPECT_TRUE(y.is_cuda());
  EXPECT_EQ((y + 1).sum().item<float>(), y.sum().item<float>() + 12) << "a number works on either device";
}

TEST(DefaultDevice, KeepsHostMemoryOnTheHost) {
  const DefaultDeviceGuard guard(kCUDA);
  float memory[2] = {1, 2};
  EXPECT_TRUE(from_blob(memory, {2}).is_cpu());
  EXPECT_TRUE(empty({2}, TensorOptions().pinned_memory(true)).is_cpu());
  nn::Linear linear(2, 3);
  optim::SGD sgd(linear->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  linear(ones({4, 2})).sum().backward();
  sgd.step();
  EXPECT_TRUE(sgd.state_dict()["param_groups.0.lr"].is_cpu());
  const Tensor a = ones({3, 3}, TensorOptions(kHalf).device(kCPU)), b = a.t().mul(2);
  EXPECT_EQ(matmul(a, b).sum().item<float>(), 54) << "the CPU's kernels keep to the CPU";
}

TEST(DefaultDevice, AppliesToTheThreadUntilTheScopeEnds) {
  {
    const DefaultDeviceGuard guard(kCUDA);
    const ThreadContext modes = ThreadContext::capture();
    std::thread([&] {
      EXPECT_TRUE(zeros({2}).is_cpu());
      const ThreadContextGuard as_there(modes);
      EXPECT_TRUE(zeros({2}).is_cuda());
    }).join();
    {
      const DefaultDeviceGuard inner(kCPU);
      EXPECT_TRUE(zeros({2}).is_cpu());
    }
    EXPECT_TRUE(zeros({2}).is_cuda());
  }
  EXPECT_TRUE(zeros({2}).is_cpu());
  set_default_device(kCUDA);
  const int count = device_count();
  EXPECT_THROWS(set_default_device(Device(kCUDA, count)), DeviceError, "no CUDA device " + std::to_string(count));
  EXPECT_TRUE(zeros({2}).is_cuda()) << "a refused call changes nothing";
  set_default_device(kCPU);
}

}  // namespace
}  // namespace tandem::cuda::testing
