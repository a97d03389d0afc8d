#include "support/running_test.h"

#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

const ::testing::TestInfo* current() { return ::testing::UnitTest::GetInstance()->current_test_info(); }

[[maybe_unused]] const bool replaced = [] {
  running_test.name = [] {
    const ::testing::TestInfo* const test = current();
    return test ? std::string(test->test_suite_name()) + "." + test->name() : RunningTest().name();
  };
  running_test.fail = [](const std::string& message) {
    if (!current()) RunningTest().fail(message);
    ADD_FAILURE() << message;
  };
  return true;
}();

}  // namespace
}  // namespace tandem::testing
