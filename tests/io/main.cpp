// The test program of io. With --write PATH COUNTERS, as the child of the kill test, writes checkpoints until killed.
#include <gtest/gtest.h>

#include <string_view>

#include "io/kill_writer.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--write") return tandem::testing::write_forever(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
