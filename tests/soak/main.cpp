// The test program of the finders. With --child it runs as one of their child processes (soak.h).
#include <gtest/gtest.h>

#include <string_view>

#include "soak/soak.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--child") return tandem::testing::run_child(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
