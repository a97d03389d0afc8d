// Installs a driver with described devices, the real cuDNN, which only plans, and the fake cuBLASLt of tests/cuda_fake.
#include <gtest/gtest.h>

#include <cstdio>

#include "cuda_fake/fake_vendors.h"
#include "cudnn_engines/described_devices.h"

int main(int argc, char** argv) {
  namespace cuda = tandem::cuda;
  ::testing::InitGoogleTest(&argc, argv);
  if (cudnnGetVersion() < 90800) {
    std::printf("skipped: cuDNN %zu cannot plan for a described device; 9.8 can\n", cudnnGetVersion());
    return 77;
  }
  static const cuda::DriverGuard driver(cuda::testing::described_driver());
  static const cuda::BlasDriverGuard blas(cuda::testing::fake_blas_driver());
  static const cuda::DnnDriverGuard dnn(cuda::testing::planning_driver());
  return RUN_ALL_TESTS();
}
