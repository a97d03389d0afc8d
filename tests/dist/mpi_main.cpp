// The main function of dist_mpi_test: rank 0 reports the results of the tests, the others only failures.
#include <gtest/gtest.h>

#include <cstdio>

#include "tandem/dist/init.h"

int main(int argc, char** argv) {
  const auto group = tandem::distributed::init({.timeout = std::chrono::minutes(2)});
  ::testing::InitGoogleTest(&argc, argv);
  if (group->rank() != 0) GTEST_FLAG_SET(output, "");
  const int failed = RUN_ALL_TESTS();
  if (failed) std::fprintf(stderr, "rank %d of %d: tests failed\n", group->rank(), group->size());
  return failed;
}
