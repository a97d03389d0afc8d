#pragma once
// The test that is running, for the emulated device, which programs without GoogleTest link too.
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tandem::testing {

/// What a program without tests does. running_test.cpp, which tests link, replaces it.
struct RunningTest {
  /// The test's name, such as Softmax.LongRows; "-" if none is running.
  std::string (*name)() = [] { return std::string("-"); };
  /// Fails the test. If none is running, the process ends.
  void (*fail)(const std::string& message) = [](const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::_Exit(1);
  };
};
inline constinit RunningTest running_test;

}  // namespace tandem::testing
