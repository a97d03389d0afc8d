// Installs a driver with described devices, the real cuDNN, which only plans, and the fake cuBLASLt of tests/cuda_fake.
#include <gtest/gtest.h>

#include "cuda_fake/fake_vendors.h"
#include "cudnn_engines/described_devices.h"

int main(int argc, char** argv) {
  namespace cuda = tandem::cuda;
  ::testing::InitGoogleTest(&argc, argv);
  static const cuda::DriverGuard driver(cuda::testing::described_driver());
  static const cuda::BlasDriverGuard blas(cuda::testing::fake_blas_driver());
  static const cuda::DnnDriverGuard dnn(cuda::testing::planning_driver());
  return RUN_ALL_TESTS();
}
