#include "tandem/base/op_scope.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/base/check.h"

namespace tandem {
namespace {

void fail(int value) { TANDEM_CHECK(value < 0, StateError, "value is {}, but must be negative", value); }

TEST(OpScope, NamesErrors) {
  const OpScope op("outer");
  try {
    fail(3);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_EQ(error.op(), "outer");
    EXPECT_EQ(error.message(), "value is 3, but must be negative");
    EXPECT_STREQ(error.what(), "outer: value is 3, but must be negative");
  }
}

TEST(OpScope, OutsideOfScopesErrorsHaveNoName) {
  try {
    fail(3);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_EQ(error.op(), "");
    EXPECT_EQ(error.message(), "value is 3, but must be negative");
    EXPECT_STREQ(error.what(), "value is 3, but must be negative");
  }
}

TEST(OpScope, TheOutermostNames) {
  const OpScope outer("outer");
  {
    const OpScope inner("inner");
    EXPECT_STREQ(inner.name(), "inner");
    EXPECT_THROWS(fail(3), StateError, "outer: value is 3");
  }
  EXPECT_STREQ(running_op(), "outer");
}

TEST(OpScope, EndsAfterAnException) {
  auto call = [] {
    const OpScope op("outer");
    fail(3);
  };
  EXPECT_THROWS(call(), StateError, "outer: ");
  EXPECT_STREQ(running_op(), "");
}

TEST(UserCodeScope, LetsFunctionsInsideNameThemselves) {
  const UserCodeScope outer("outer");
  EXPECT_THROWS(fail(3), StateError, "outer: value is 3");
  const OpScope inner("inner");
  EXPECT_THROWS(fail(3), StateError, "inner: value is 3");
}

TEST(UserCodeScope, EndsAnOuterScope) {
  const OpScope outer("outer");
  const UserCodeScope user("hook");
  EXPECT_THROWS(fail(3), StateError, "hook: value is 3");
}

TEST(Error, KeepsItsOpWhenCopied) {
  const ShapeError error("conv2d", "x is [3]");
  const ShapeError copy = error;
  EXPECT_EQ(copy.op(), "conv2d");
  EXPECT_EQ(copy.message(), "x is [3]");
}

}  // namespace
}  // namespace tandem
