// The test program of the ops. --list-cases prints the case table for tests/golden/generate.py.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "cases/cases.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--list-cases") {
    for (const tandem::testing::Case& c : tandem::testing::all_cases()) {
      std::puts(tandem::testing::to_json(c).c_str());
    }
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
