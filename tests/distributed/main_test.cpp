// The main function of distributed_test. With TANDEM_TEST_MPI=1, under mpirun, the tests run on the processes instead
// of on threads; rank 0 then reports the results, the others only failures.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tandem/distributed/init.h"

int main(int argc, char** argv) {
  using namespace tandem;
  if (std::getenv("TANDEM_TEST_MPI")) distributed::init({.timeout = std::chrono::minutes(2)});
  ::testing::InitGoogleTest(&argc, argv);
  if (distributed::rank() != 0) GTEST_FLAG_SET(output, "");
  const int failed = RUN_ALL_TESTS();
  if (failed) std::fprintf(stderr, "rank %d of %d: tests failed\n", distributed::rank(), distributed::world_size());
  return failed;
}
