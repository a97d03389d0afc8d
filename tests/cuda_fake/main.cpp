// The fakes are put in before anything asks for a device: what is there is found out once for a process.
#include <gtest/gtest.h>

#include "cuda_fake/fake_driver.h"
#include "cuda_fake/fake_vendors.h"

int main(int argc, char** argv) {
  using namespace tandem::cuda;
  ::testing::InitGoogleTest(&argc, argv);
  const DriverGuard driver(testing::fake_driver());
  const BlasDriverGuard blas(testing::fake_blas_driver());
  const DnnDriverGuard dnn(testing::fake_dnn_driver());
  return RUN_ALL_TESTS();
}
