// The test program of the finders. With --child it is one of their child processes (soak.h).
#include <gtest/gtest.h>

#include <string_view>

#include "soak/soak.h"

#if defined(__SANITIZE_ADDRESS__)
/// What is too large for AddressSanitizer's allocator fails like any other allocation, instead of ending the process.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }  // NOLINT
#endif

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--child") return tandem::testing::run_child(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
