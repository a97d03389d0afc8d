// The fakes are installed before the first use of a device, because devices are detected once per process. They are
// static so that they outlive the plans and handles that threads keep until they end.
#include <gtest/gtest.h>

#include "cuda_fake/fake_driver.h"
#include "cuda_fake/fake_vendors.h"

int main(int argc, char** argv) {
  namespace cuda = tandem::cuda;
  ::testing::InitGoogleTest(&argc, argv);
  static const cuda::DriverGuard driver(cuda::testing::fake_driver());
  static const cuda::BlasDriverGuard blas(cuda::testing::fake_blas_driver());
  static const cuda::DnnDriverGuard dnn(cuda::testing::fake_dnn_driver());
  return RUN_ALL_TESTS();
}
